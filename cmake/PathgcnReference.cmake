# pathgcn_reference: the plain double-precision kernels of tests/ref, for unit tests and benchmarks.
include_guard()
file(GLOB reference_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/ref/*.c)
add_library(pathgcn_reference STATIC ${reference_sources})
pathgcn_compile(pathgcn_reference)
target_include_directories(pathgcn_reference PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/tests)
target_link_libraries(pathgcn_reference PUBLIC pathgcn_inside)
