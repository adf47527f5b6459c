# The programs of bench/, which no test but e2e.bench runs: bench_kernels, bench_model, bench_nodes, bench_ranks,
# bench_delay and bench_products. They
# link the same objects as the unit tests, and the plain references of tests/ref.
#
# The limits that kernels are compared with are compiled for this very processor.
include_guard()
include(PathgcnReference)
include(CheckCCompilerFlag)
check_c_compiler_flag(-march=native pathgcn_march_native)
set(bench_dir ${CMAKE_CURRENT_SOURCE_DIR}/bench)

add_library(pathgcn_bench STATIC ${bench_dir}/bench.c ${bench_dir}/limits.c)
pathgcn_compile(pathgcn_bench)
set(limit_flags -O3 -Wno-psabi)
if(pathgcn_march_native)
    list(APPEND limit_flags -march=native)
endif()
set_source_files_properties(${bench_dir}/limits.c PROPERTIES COMPILE_OPTIONS "${limit_flags}")
target_link_libraries(pathgcn_bench PUBLIC pathgcn_reference)

set(bench_kernels_sources bed.c kernels_path.c kernels_dense.c kernels_machine.c)
foreach(name kernels model nodes products ranks delay)
    list(TRANSFORM bench_${name}_sources PREPEND ${bench_dir}/)
    add_executable(bench_${name} ${bench_dir}/${name}.c ${bench_${name}_sources})
    pathgcn_compile(bench_${name})
    target_link_libraries(bench_${name} PRIVATE pathgcn_bench)
endforeach()

# Libraries that products are compared with, where they are installed. No other program links them.
function(bench_rival library header definition)
    find_library(BENCH_${library} ${library})
    find_path(BENCH_${library}_HEADER ${header} PATH_SUFFIXES openblas openblas-pthread)
    if(BENCH_${library} AND BENCH_${library}_HEADER)
        target_include_directories(bench_products SYSTEM PRIVATE ${BENCH_${library}_HEADER})
        target_link_libraries(bench_products PRIVATE ${BENCH_${library}} ${CMAKE_DL_LIBS})
        target_compile_definitions(bench_products PRIVATE ${definition})
    endif()
endfunction()
bench_rival(openblas cblas.h BENCH_OPENBLAS)
bench_rival(xsmm libxsmm.h BENCH_LIBXSMM)
