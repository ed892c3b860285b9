# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2016  # awk's own $
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

# The first column of a table of margay's, of rows that awk finds right: there column["NAME"] is the number of a column.
_margay_rows() {
	local word=$1 right=$2
	shift 2
	_margay_offer "$word" < <(margay "$@" 2>/dev/null |
		awk 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next } '"$right"' { print $1 }')
}

# VMs in one of these states.
_margay_vms() {
	_margay_rows "$1" '$column["state"] ~ /^('"$2"')$/' list
}

# The options that the program says a command takes.
_margay_options() {
	_margay_offer "$2" < <(margay --help 2>/dev/null | sed -n "s/^  $1 \\+\\(\\[.*\\)/\\1/p" | grep -o '\[--\?[a-z0-9-]*' | tr -d '[')
	_margay_words "$2" --json
}

# Bash itself completes names of files, and quotes them.
_margay_files() {
	compopt -o default -o filenames
}

_margay_file_of_image() {
	local word=$1 before=$2
	case $before in
	image) _margay_words "$word" put pull list rm ;;
	rm) _margay_rows "$word" '$column["used"] == "no" && $column["boot"] == "no"' image list ;;
	list | pull) ;;
	*) _margay_files ;;
	esac
}

_margay_segment_of_net() {
	case $2 in
	net) _margay_words "$1" show ;;
	show) _margay_rows "$1" 1 net show ;;
	esac
}

# What is right behind the command. Only VMs of which it is not refused.
_margay_words_of() {
	local command=$1 word=$2 before=$3
	case $command in
	image) _margay_file_of_image "$word" "$before" ;;
	net) _margay_segment_of_net "$word" "$before" ;;
	create | apply) _margay_files ;;
	dump) if [ "$before" = dump ]; then _margay_vms "$word" 'running|paused|crashed'; else _margay_files; fi ;;
	info | list | node | pci | log | events | journal | metrics) ;;
	resume) _margay_vms "$word" paused ;;
	pause) _margay_vms "$word" running ;;
	press | nmi | stats) _margay_vms "$word" 'running|paused' ;;
	stop | kill) _margay_vms "$word" 'running|paused|changing|waiting|crashed' ;;
	start) _margay_rows "$word" '$column["state"] !~ /^(running|paused|changing|crashed|bad-file)$/' list ;;
	destroy)
		_margay_rows "$word" '$column["created"] == "yes" && $column["state"] !~ /^(running|paused|changing|crashed)$/' list ;;
	*) _margay_rows "$word" 1 list ;;
	esac
}

_margay() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at=1 command
	COMPREPLY=()
	while [ "${COMP_WORDS[at]}" = --json ] || [ "${COMP_WORDS[at]}" = -j ]; do
		at=$((at + 1))
	done
	if [ "$COMP_CWORD" -le "$at" ]; then
		_margay_offer "$word" < <(margay --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort -u)
		_margay_words "$word" --json --version --help
		return
	fi
	command=${COMP_WORDS[at]}
	case $before in
	--output)
		_margay_files
		return ;;
	--timeout) return ;;
	--*) before=${COMP_WORDS[COMP_CWORD-2]} ;;
	esac
	case $word in
	-*)
		case $command in image | net) command+=" ${COMP_WORDS[at+1]}" ;; esac
		_margay_options "$command" "$word" ;;
	*) _margay_words_of "$command" "$word" "$before" ;;
	esac
}
complete -F _margay margay
