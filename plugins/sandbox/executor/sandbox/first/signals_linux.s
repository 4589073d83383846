#include "textflag.h"

// A signal handler that returns to the kernel.
TEXT returns(SB), NOSPLIT|NOFRAME, $0-0
	RET

// Its address.
DATA ·handler(SB)/8, $returns(SB)
GLOBL ·handler(SB), RODATA|NOPTR, $8
