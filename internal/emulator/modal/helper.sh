# The file tool of a sandbox: sh -c THIS sh OPERATION PATH FLAG
# An error is one word on standard error and exit status 1.
path=$2

fail() {
	printf %s "$1" >&2
	exit 1
}

# absent fails for a path that is not there.
absent() {
	dir=$path
	while dir=${dir%/*} && [ -n "$dir" ]; do
		[ -d "$dir" ] && fail NotFound
		[ -e "$dir" ] && fail NotDirectory
	done
	fail NotFound
}

# entries prints what find finds, each field ended by a NUL.
entries() {
	find "$@" -printf '%f\0%p\0%y\0%s\0%m\0%M\0%u\0%g\0%T@\0%l\0' 2>/dev/null || fail PermissionDenied
}

case $1 in
Fail)
	fail "$2"
	;;
ReadFile)
	[ -d "$path" ] && fail IsDirectory
	[ -e "$path" ] || absent
	cat <"$path" 2>/dev/null || fail PermissionDenied
	;;
WriteFile)
	[ -d "$path" ] && [ ! -L "$path" ] && fail IsDirectory
	dir=${path%/*}
	if ! mkdir -p "${dir:=/}" 2>/dev/null; then
		while [ ! -e "$dir" ]; do dir=${dir%/*}; done
		[ -d "$dir" ] && fail PermissionDenied
		fail NotDirectory
	fi
	# A link is replaced, not followed.
	part=$(mktemp "$dir/.modal-XXXXXX" 2>/dev/null) || fail PermissionDenied
	cat >"$part" && chmod 644 "$part" && mv -fT "$part" "$path" || {
		rm -f "$part"
		fail PermissionDenied
	}
	;;
ListFiles)
	[ -e "$path" ] || absent
	[ -d "$path" ] || fail NotDirectory
	entries -H "$path" -mindepth 1 -maxdepth 1
	;;
Stat)
	[ -e "$path" ] || [ -L "$path" ] || absent
	entries -P "$path" -maxdepth 0
	;;
MakeDirectory)
	if [ -e "$path" ] || [ -L "$path" ]; then
		[ -d "$path" ] && [ "$3" = true ] && exit 0
		fail PathAlreadyExists
	fi
	if [ "$3" = true ]; then
		mkdir -p "$path" 2>/dev/null && exit 0
	else
		[ -d "${path%/*}/" ] || absent
		mkdir "$path" 2>/dev/null && exit 0
	fi
	fail PermissionDenied
	;;
Remove)
	[ -e "$path" ] || [ -L "$path" ] || absent
	if [ "$3" = true ]; then
		rm -rf "$path" 2>/dev/null || fail PermissionDenied
	elif [ -d "$path" ] && [ ! -L "$path" ]; then
		rmdir "$path" 2>/dev/null || fail DirectoryNotEmpty
	else
		rm -f "$path" 2>/dev/null || fail PermissionDenied
	fi
	;;
*)
	fail NotSupported
	;;
esac
