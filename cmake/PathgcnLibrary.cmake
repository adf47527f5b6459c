# The objects of the library, and the three archives made of them:
#   pathgcn         libpathgcn.so, offers pgcn_* only
#   pathgcn_static  libpathgcn.a, offers pgcn_* only
#   pathgcn_inside  everything including pgcn_i_*, for the unit tests; never installed
set(source_dir ${CMAKE_CURRENT_SOURCE_DIR}/src)
file(GLOB core_sources CONFIGURE_DEPENDS ${source_dir}/*/*.c)
list(FILTER core_sources EXCLUDE REGEX "/src/(report|cli|experiments)/")

# Exchanges the file that calls libcurl in a list of sources, if this build has none.
macro(pathgcn_without_curl sources)
    if(NOT PATHGCN_FETCH)
        list(REMOVE_ITEM ${sources} ${source_dir}/data/download.c)
        list(APPEND ${sources} ${source_dir}/data/offline/download.c)
    endif()
endmacro()
pathgcn_without_curl(core_sources)

# kernels/ is compiled once per instruction set, but for the file that chooses one.
set(kernel_sources ${core_sources})
list(FILTER kernel_sources INCLUDE REGEX "/src/kernels/")
list(FILTER kernel_sources EXCLUDE REGEX "/src/kernels/dispatch\\.c$")
if(kernel_sources)
    list(REMOVE_ITEM core_sources ${kernel_sources})
endif()

set(isas baseline)
set(isa_flags_baseline "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    list(APPEND isas avx2 avx512)
    set(isa_flags_avx2 -march=x86-64-v3)
    set(isa_flags_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
    set(isa_definitions PGCN_HAVE_X86_KERNELS)
endif()

if(PATHGCN_HAS_METIS)
    set_source_files_properties(${source_dir}/graph/partition_metis.c PROPERTIES
                                COMPILE_DEFINITIONS PGCN_HAVE_METIS)
endif()
if(PATHGCN_URING)
    list(APPEND isa_definitions PGCN_HAVE_URING)
endif()

set(object_targets "")
function(pathgcn_objects target)
    add_library(${target} OBJECT ${ARGN})
    pathgcn_compile(${target})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include ${source_dir})
    target_link_libraries(${target} PRIVATE ${PATHGCN_DEPENDENCIES})
    # errno of math functions is read nowhere; without it sqrtf is one instruction.
    target_compile_options(${target} PRIVATE -fno-math-errno)
    target_compile_definitions(${target} PRIVATE ${isa_definitions})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
                          C_VISIBILITY_PRESET hidden)
    set(object_targets ${object_targets} ${target} PARENT_SCOPE)
endfunction()

include(PathgcnRecipes)
pathgcn_objects(pathgcn_core ${core_sources} ${recipe_source})
if(kernel_sources)
    foreach(isa IN LISTS isas)
        pathgcn_objects(pathgcn_kernels_${isa} ${kernel_sources})
        # Vectors are passed by value between inlined functions only: no ABI to warn about.
        target_compile_options(pathgcn_kernels_${isa} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>
                               -Wno-psabi ${isa_flags_${isa}})
        target_compile_definitions(pathgcn_kernels_${isa} PRIVATE PGCN_ISA=${isa})
    endforeach()
endif()
set(objects "")
foreach(target IN LISTS object_targets)
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
endforeach()

set(pathgcn_public_include $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

add_library(pathgcn SHARED ${objects})
target_include_directories(pathgcn INTERFACE ${pathgcn_public_include})
target_link_libraries(pathgcn PRIVATE ${PATHGCN_DEPENDENCIES})
set(version_script ${CMAKE_CURRENT_SOURCE_DIR}/cmake/pathgcn.map)
target_link_options(pathgcn PRIVATE -Wl,--version-script=${version_script})
set_target_properties(pathgcn PROPERTIES LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                      LINK_DEPENDS ${version_script})

# An archive cannot hide a symbol that two of its members share. So its members become one object,
# in which the hidden symbols can be made local.
set(one_object ${CMAKE_CURRENT_BINARY_DIR}/pathgcn_one.o)
add_custom_command(
    OUTPUT ${one_object}
    COMMAND ${CMAKE_LINKER} -r -o ${one_object} ${objects}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${one_object}
    DEPENDS ${objects}
    COMMENT "Hiding internal symbols of libpathgcn.a"
    COMMAND_EXPAND_LISTS VERBATIM)
set_source_files_properties(${one_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(pathgcn_static STATIC ${one_object})
add_dependencies(pathgcn_static ${object_targets})
target_include_directories(pathgcn_static INTERFACE ${pathgcn_public_include})
target_link_libraries(pathgcn_static INTERFACE ${PATHGCN_DEPENDENCIES})
set_target_properties(pathgcn_static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME pathgcn)

add_library(pathgcn_inside STATIC EXCLUDE_FROM_ALL ${objects})
target_include_directories(pathgcn_inside INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/include
                           ${source_dir})
target_compile_definitions(pathgcn_inside INTERFACE ${isa_definitions})
target_link_libraries(pathgcn_inside INTERFACE ${PATHGCN_DEPENDENCIES})
set_target_properties(pathgcn_inside PROPERTIES LINKER_LANGUAGE C)
