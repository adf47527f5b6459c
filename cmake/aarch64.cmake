# Toolchain file: for aarch64 by Debian's cross compiler, against the packages that tools/test-arm64.sh
# unpacked into PATHGCN_SYSROOT; programs run under qemu's user emulation.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

# CMake reads this file again for every compiler check, which must know the directory too.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PATHGCN_SYSROOT)
set(CMAKE_SYSROOT ${PATHGCN_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# pkg-config as well knows the packages of the sysroot only.
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PATHGCN_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${PATHGCN_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${PATHGCN_SYSROOT}/usr/share/pkgconfig)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;${PATHGCN_SYSROOT})
