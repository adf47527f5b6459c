# Tests for ctest, by label: unit (tests/unit/test_*.c), e2e (tests/e2e/*.sh) and example
# (examples/*.c, which see the public header and the shared library only) and python (python/tests/test_*.py).
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
endif()
if(NOT TARGET PkgConfig::CMOCKA)
    message(FATAL_ERROR "The tests need cmocka, which was not found. Run `tools/setup.sh test`, or "
                        "on Debian and Ubuntu: apt-get install pkg-config libcmocka-dev")
endif()

set(test_environment
    PATHGCN=${CMAKE_CURRENT_BINARY_DIR}/pathgcn
    PATHGCN_SOURCE=${CMAKE_CURRENT_SOURCE_DIR}
    PATHGCN_BUILD=${CMAKE_CURRENT_BINARY_DIR}
    PATHGCN_CC=${CMAKE_C_COMPILER}
    PATHGCN_SANITIZE=${PATHGCN_SANITIZE}
    PATHGCN_FETCH=${PATHGCN_FETCH}
    UBSAN_OPTIONS=print_stacktrace=1)

# No test takes a minute on an idle machine but e2e.docs; machines are shared. An emulator takes ten to thirty times as
# long, a sanitizer three to ten times.
set(test_seconds 400)
if(CMAKE_CROSSCOMPILING)
    set(test_seconds 1800)
elseif(PATHGCN_SANITIZE)
    set(test_seconds 600)
endif()

# name, label, command...; exit code 77 is a skipped test.
function(pathgcn_test name label)
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${test_seconds} SKIP_RETURN_CODE 77
                         ENVIRONMENT "${test_environment}")
endfunction()

include(PathgcnReference)
include(PathgcnBench) # for e2e.bench

file(GLOB unit_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/unit/test_*.c)
foreach(source IN LISTS unit_sources)
    get_filename_component(program ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${program})
    add_executable(${program} ${source})
    pathgcn_compile(${program})
    target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/tests)
    target_link_libraries(${program} PRIVATE pathgcn_commands pathgcn_reference PkgConfig::CMOCKA)
    file(STRINGS ${source} by_isa REGEX "FOR_EACH_TABLE|isa_names" LIMIT_COUNT 1)
    file(STRINGS ${source} on_disk REGEX "run_on_disk" LIMIT_COUNT 1)
    file(STRINGS ${source} by_curl REGEX "pgcn_i_(download|fetch)\\(" LIMIT_COUNT 1)
    if(by_curl AND NOT PATHGCN_FETCH AND NOT name STREQUAL "offline")
        pathgcn_test(${name} unit sh -c "echo SKIPPED: this build cannot download && exit 77")
    elseif(on_disk AND PATHGCN_SANITIZE MATCHES thread)
        pathgcn_test(${name} unit sh -c "echo SKIPPED: its disk stands where the sanitizer stands && exit 77")
    elseif(by_isa) # once for every instruction set, so that those not here are seen to be skipped
        foreach(isa IN LISTS isas)
            pathgcn_test(${name}.${isa} unit ${program})
            set_property(TEST ${name}.${isa} APPEND PROPERTY ENVIRONMENT PATHGCN_ISA=${isa})
        endforeach()
    else()
        pathgcn_test(${name} unit ${program})
    endif()
endforeach()

# On every instruction set, not only on the best one: a row must not depend on the rows beside it, and networks
# must be their equations.
foreach(name alone networks)
    foreach(isa IN LISTS isas)
        pathgcn_test(${name}.${isa} unit ${CMAKE_COMMAND} -E env PATHGCN_ISA=${isa}
                     ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:test_${name}>)
    endforeach()
endforeach()
# They run a command a thousand times.
set_tests_properties(io_faults io_faults_commands PROPERTIES TIMEOUT 900)

# Our side of `make test-peers`.
add_executable(peers_dump ${CMAKE_CURRENT_SOURCE_DIR}/tests/peers/dump.c)
pathgcn_compile(peers_dump)
target_link_libraries(peers_dump PRIVATE pathgcn_reference)

if(TARGET pathgcn_program)
    file(GLOB e2e_scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/e2e/*.sh)
    foreach(script IN LISTS e2e_scripts)
        get_filename_component(name ${script} NAME_WE)
        pathgcn_test(e2e.${name} e2e bash ${script})
    endforeach()
    # More processes than cores, which wait for each other.
    set_tests_properties(e2e.ranks PROPERTIES TIMEOUT 600)
endif()

file(GLOB example_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/examples/*.c)
foreach(source IN LISTS example_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_${name} ${source})
    pathgcn_compile(example_${name})
    target_link_libraries(example_${name} PRIVATE pathgcn m)
    pathgcn_test(example.${name} example example_${name})
endforeach()

if(TARGET pathgcn_python)
    # What the sanitizers of the module need in a program that has none of them. GCC's runtimes are shared
    # libraries; leaks are those of the interpreter, and C++ exceptions need their library from the start.
    set(python_environment PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR}/python PYTHONDONTWRITEBYTECODE=1)
    set(python_skip "")
    if(PATHGCN_SANITIZE AND NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
        set(python_skip "clang's sanitizers are part of the program, which is python3 here")
    elseif(PATHGCN_SANITIZE MATCHES "thread")
        set(python_skip "python3 was not built for the thread sanitizer")
    elseif(PATHGCN_SANITIZE MATCHES "address")
        foreach(library libasan.so libstdc++.so.6)
            execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${library}
                            OUTPUT_VARIABLE library_path OUTPUT_STRIP_TRAILING_WHITESPACE)
            list(APPEND python_preload ${library_path})
        endforeach()
        string(REPLACE ";" ":" python_preload "${python_preload}")
        list(APPEND python_environment LD_PRELOAD=${python_preload} ASAN_OPTIONS=detect_leaks=0)
    endif()
    file(GLOB python_tests CONFIGURE_DEPENDS ${python_dir}/tests/test_*.py)
    foreach(script IN LISTS python_tests)
        get_filename_component(name ${script} NAME_WE)
        string(REGEX REPLACE "^test_" "" name ${name})
        if(python_skip)
            pathgcn_test(python.${name} python sh -c "echo SKIPPED: \"${python_skip}\" && exit 77")
        else()
            pathgcn_test(python.${name} python ${Python3_EXECUTABLE} ${python_dir}/tests/run.py ${script})
        endif()
        set_property(TEST python.${name} APPEND PROPERTY ENVIRONMENT ${python_environment})
    endforeach()
endif()
