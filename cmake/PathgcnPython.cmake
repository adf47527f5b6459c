# The Python package, pathgcn_python: python/src as the extension module pathgcn._core, which holds the
# library and offers PyInit__core only, beside the .py files of python/pathgcn.
#
#   in a wheel     scikit-build-core (python/pyproject.toml) installs the module, component `python`
#   anywhere else  build/python/pathgcn is the package: PYTHONPATH=build/python python3
#
# The limited API of Python 3.11 is all that is used: one module for all later versions.
set(python_dir ${CMAKE_CURRENT_SOURCE_DIR}/python)

# The interpreter of the system rather than one that comes first in PATH (pyenv's, conda's): the
# packages that the tests need are installed for it. scikit-build-core names its own.
if(NOT Python3_EXECUTABLE)
    find_program(PATHGCN_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH
                 DOC "The python3 that builds and tests the package")
    if(PATHGCN_SYSTEM_PYTHON)
        set(Python3_EXECUTABLE ${PATHGCN_SYSTEM_PYTHON})
    endif()
endif()
find_package(Python3 3.11 QUIET COMPONENTS Interpreter Development.Module)
if(NOT Python3_Interpreter_FOUND OR NOT Python3_Development.Module_FOUND)
    message(FATAL_ERROR "The Python package needs Python 3.11 or later with its headers, which were not found. Run "
                        "`tools/setup.sh test`, or on Debian and Ubuntu: apt-get install python3-dev. "
                        "-DPATHGCN_PYTHON=OFF builds without the package")
endif()

file(GLOB python_sources CONFIGURE_DEPENDS ${python_dir}/src/*.c)
set(python_map ${CMAKE_CURRENT_SOURCE_DIR}/cmake/pathgcn_python.map)
add_library(pathgcn_python MODULE ${python_sources})
pathgcn_compile(pathgcn_python)
# The tables of an extension module hold functions as other functions, and as pointers to objects.
target_compile_options(pathgcn_python PRIVATE -Wno-cast-function-type -Wno-pedantic)
target_compile_definitions(pathgcn_python PRIVATE Py_LIMITED_API=0x030B0000)
target_include_directories(pathgcn_python SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
target_link_libraries(pathgcn_python PRIVATE pathgcn_static)
target_link_options(pathgcn_python PRIVATE -Wl,--version-script=${python_map} -Wl,--exclude-libs,ALL)
set_target_properties(pathgcn_python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX .abi3.so
                      C_VISIBILITY_PRESET hidden LINK_DEPENDS ${python_map}
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/python/pathgcn)

if(SKBUILD)
    install(TARGETS pathgcn_python LIBRARY DESTINATION pathgcn COMPONENT python)
    return()
endif()

# Links, so that a changed .py file needs no build; a new one, or one that is gone, does.
file(GLOB python_files RELATIVE ${python_dir}/pathgcn CONFIGURE_DEPENDS ${python_dir}/pathgcn/*.py
     ${python_dir}/pathgcn/*.pyi ${python_dir}/pathgcn/py.typed)
set(python_package ${CMAKE_CURRENT_BINARY_DIR}/python/pathgcn)
file(GLOB python_links ${python_package}/*.py ${python_package}/*.pyi ${python_package}/py.typed)
if(python_links)
    file(REMOVE ${python_links})
endif()
file(MAKE_DIRECTORY ${python_package})
foreach(name IN LISTS python_files)
    file(CREATE_LINK ${python_dir}/pathgcn/${name} ${python_package}/${name} SYMBOLIC)
endforeach()
