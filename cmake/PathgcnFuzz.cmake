# The fuzz targets of tests/fuzz over their seeds, by ctest: label fuzz. tools/fuzz.sh runs the same
# targets with libFuzzer, which makes inputs of its own.
#
# The rooms that read files are compiled once more, with the address and undefined-behaviour
# sanitizers, whatever the rest of the build is.
if(PATHGCN_SANITIZE MATCHES "thread")
    message(STATUS "No fuzz tests: the address sanitizer does not go with the thread sanitizer")
    return()
endif()
if(CMAKE_CROSSCOMPILING)
    message(STATUS "No fuzz tests: the address sanitizer does not run under an emulator")
    return()
endif()
set(fuzz_flags -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)

# Recipes know the settings of every network, and a network its operations.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${source_dir}/base/*.c ${source_dir}/io/*.c
     ${source_dir}/graph/*.c ${source_dir}/data/*.c ${source_dir}/kernels/*.c ${source_dir}/paths/*.c
     ${source_dir}/nn/*.c ${source_dir}/models/*.c ${source_dir}/train/recipe_*.c
     ${source_dir}/train/config.c ${source_dir}/train/usage.c)
pathgcn_without_curl(fuzz_sources)
add_library(pathgcn_fuzzed STATIC ${fuzz_sources} ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/fuzz.c)
pathgcn_compile(pathgcn_fuzzed)
target_compile_options(pathgcn_fuzzed PRIVATE ${fuzz_flags})
target_compile_definitions(pathgcn_fuzzed PRIVATE FUZZ_REPLAY PGCN_SMALL_WINDOWS PGCN_ISA=baseline)
target_include_directories(pathgcn_fuzzed PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include ${source_dir})
target_link_libraries(pathgcn_fuzzed PUBLIC ${PATHGCN_DEPENDENCIES})

file(GLOB fuzz_targets CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
foreach(source IN LISTS fuzz_targets)
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name ${program})
    add_executable(${program} ${source})
    pathgcn_compile(${program})
    target_compile_options(${program} PRIVATE ${fuzz_flags})
    target_link_options(${program} PRIVATE -fsanitize=address,undefined)
    # fuzz.c holds main(), which an archive gives only when asked for it.
    target_link_options(${program} PRIVATE -Wl,-u,main)
    target_link_libraries(${program} PRIVATE pathgcn_fuzzed)
    pathgcn_test(fuzz.${name} fuzz ${program}
                 ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/corpus/${name})
endforeach()
