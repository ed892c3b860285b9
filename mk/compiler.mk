# SPDX-License-Identifier: GPL-2.0-only
#
# The programs that compile and link, and what all C and assembly has of flags.

CC      := gcc
LD      := ld
NASM    := nasm
STRIP   := strip

WARN    := -Wall -Wextra -Werror -Wshadow -Wundef -Wmissing-prototypes -Wstrict-prototypes -Wvla

A := arch/x86_64
# Not -Wall: newer versions then warn of every relocation that the entry code needs.
NASMFLAGS := -f elf64 -g -F dwarf -Werror -I$(A)/
