# Debian packages of another architecture or an older Debian, unpacked into a folder to compile against. To be
# sourced. The system itself stays as it is, and nothing here needs root.

# The mirror of Debian that this system uses.
sysroot_mirror() {
    local mirror
    # shellcheck disable=SC2016 # apt-get expands $(...) itself
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "Debian" && !url { url = $2 } END { print url }')
    [ -n "$mirror" ] || { echo "pathgcn: apt-get knows no mirror of Debian; run apt-get update" >&2 && return 1; }
    echo "$mirror"
}

# An apt with its own lists, packages and (empty) list of what is installed. It asks the mirror of this system.
sysroot_write_apt_settings() { # FOLDER ARCHITECTURE SUITE
    local mirror
    mirror=$(sysroot_mirror)
    mkdir -p "$1"/{lists,archives}/partial
    : >"$1/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $3 main" >"$1/sources.list"
    cat >"$1/apt.conf" <<END
APT::Architecture "$2";
#clear APT::Architectures;
APT::Architectures { "$2"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$1/lists";
Dir::State::status "$1/status";
Dir::State::extended_states "$1/extended_states";
Dir::Cache::archives "$1/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
END
}

# Unpacks the packages and all that they need. /lib is a link to /usr/lib as in an installed system. Links to
# absolute paths are made relative to the sysroot: the linker would look for them in this system.
sysroot_fill() { # SYSROOT ARCHITECTURE SUITE PACKAGE...
    local sysroot=$1 apt=$1.apt wanted="$*" package link
    [ "$(cat "$sysroot/packages" 2>/dev/null)" = "$wanted" ] && return
    echo "pathgcn: downloading packages of Debian $3 for $2"
    rm -rf "$sysroot" "$apt"
    sysroot_write_apt_settings "$apt" "$2" "$3"
    APT_CONFIG=$apt/apt.conf apt-get -qq update
    APT_CONFIG=$apt/apt.conf apt-get -qq -y --download-only install "${@:4}" >/dev/null
    mkdir -p "$sysroot/usr/lib"
    ln -s usr/lib "$sysroot/lib"
    for package in "$apt"/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$sysroot"
    done
    find "$sysroot" -type l -lname '/*' | while read -r link; do
        ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$sysroot$(readlink "$link")")" "$link"
    done
    echo "$wanted" >"$sysroot/packages"
    rm -rf "$apt"
}
