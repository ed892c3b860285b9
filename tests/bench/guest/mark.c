/* SPDX-License-Identifier: GPL-2.0-only */
/* mark N: executes marker N (1..9), so that a script can say where it is. */
#include <stdlib.h>
#include "../marker.h"

int main(int argc, char **argv)
{
	switch (argc > 1 ? atoi(argv[1]) : 0) {
	case 1:
		MARKER(1);
		return 0;
	case 2:
		MARKER(2);
		return 0;
	case 3:
		MARKER(3);
		return 0;
	default:
		return 2;
	}
}
