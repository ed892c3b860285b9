# SPDX-License-Identifier: GPL-2.0-only
# Completion of margay(1) in bash.
_margay() {
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} choices=
	[ "$command" = --json ] && command=${COMP_WORDS[2]}
	case $COMP_CWORD:$command in
	1:* | 2:${COMP_WORDS[COMP_CWORD]})
		choices=$(margay --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort -u)' --json --version --help' ;;
	*:image)
		case ${COMP_WORDS[COMP_CWORD-1]} in
		image) choices='put list rm' ;;
		rm) choices=$(margay image list 2>/dev/null | awk 'NR > 1 { print $1 }') ;;
		*) choices=$(compgen -f -- "$word") ;;
		esac ;;
	*:create) choices=$(compgen -f -- "$word") ;;
	*:dump)
		choices=$(margay list 2>/dev/null | awk 'NR > 1 { print $1 }')
		[ "${COMP_WORDS[COMP_CWORD-1]}" = dump ] || choices=$(compgen -f -- "$word")
		;;
	*:metrics)
		case ${COMP_WORDS[COMP_CWORD-1]} in
		--output) choices=$(compgen -f -- "$word") ;;
		metrics) choices=--output ;;
		esac ;;
	*:info | *:list | *:node | *:pci | *:log) ;;
	*:stop) choices=$(margay list 2>/dev/null | awk 'NR > 1 { print $1 }')' --timeout' ;;
	*:stats) choices=$(margay list 2>/dev/null | awk 'NR > 1 { print $1 }')' -f' ;;
	*) choices=$(margay list 2>/dev/null | awk 'NR > 1 { print $1 }') ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}
complete -F _margay margay
