# SPDX-License-Identifier: GPL-2.0-only
# Completion of margay(1) in bash. No name is ever expanded: whatever a file or an image is called, it is text.

# Those of the names on standard input, one a line, that begin with the word; quoted where the shell needs it.
_margay_offer() {
	local word=$1 name quoted
	while IFS= read -r name; do
		[ -n "$name" ] || continue
		printf -v quoted %q "$name"
		if [[ $name == "$word"* || $quoted == "$word"* ]]; then
			COMPREPLY+=("$quoted")
		fi
	done
}

# Words of one's own.
_margay_words() {
	local word=$1
	shift
	_margay_offer "$word" < <(printf '%s\n' "$@")
}

# The first column of a table of margay's.
_margay_names() {
	local word=$1
	shift
	_margay_offer "$word" < <(margay "$@" 2>/dev/null | awk 'NR > 1 { print $1 }')
}

# Bash itself completes names of files, and quotes them.
_margay_files() {
	compopt -o default -o filenames
}

_margay() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at=1
	COMPREPLY=()
	[ "${COMP_WORDS[1]}" = --json ] && at=2
	if [ "$COMP_CWORD" -le "$at" ]; then
		_margay_offer "$word" < <(margay --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort -u)
		_margay_words "$word" --json --version --help
		return
	fi
	case ${COMP_WORDS[at]} in
	image)
		case $before in
		image) _margay_words "$word" put list rm ;;
		rm) _margay_names "$word" image list ;;
		*) _margay_files ;;
		esac ;;
	create) _margay_files ;;
	dump) if [ "$before" = dump ]; then _margay_names "$word" list; else _margay_files; fi ;;
	metrics)
		case $before in
		--output) _margay_files ;;
		metrics) _margay_words "$word" --output ;;
		esac ;;
	info | list | node | pci | log) ;;
	console)
		_margay_names "$word" list
		_margay_words "$word" --raw ;;
	stop)
		_margay_names "$word" list
		_margay_words "$word" --timeout ;;
	stats)
		_margay_names "$word" list
		_margay_words "$word" -f ;;
	*) _margay_names "$word" list ;;
	esac
}
complete -F _margay margay
