# pathgcn_mpi.so, the module for MPI (src/mpi). The library opens it where mpirun or srun has started several ranks; nothing
# is linked with MPI but this one file. It is built where MPI is found (PATHGCN_MPI AUTO), and belongs beside the library:
# in LIBDIR/pathgcn when installed, beside the program in the build directory.
if(NOT PATHGCN_MPI OR (CMAKE_CROSSCOMPILING AND PATHGCN_MPI STREQUAL "AUTO"))
    return()
endif()
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS C)
if(NOT MPI_C_FOUND)
    if(NOT PATHGCN_MPI STREQUAL "AUTO")
        message(FATAL_ERROR "PATHGCN_MPI is ON, but MPI was not found. On Debian and Ubuntu: "
                            "apt-get install libopenmpi-dev openmpi-bin")
    endif()
    return()
endif()
add_library(pathgcn_mpi MODULE ${source_dir}/mpi/mpi.c)
pathgcn_compile(pathgcn_mpi)
target_include_directories(pathgcn_mpi PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include ${source_dir})
target_link_libraries(pathgcn_mpi PRIVATE MPI::MPI_C)
set_target_properties(pathgcn_mpi PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
