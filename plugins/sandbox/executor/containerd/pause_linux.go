package containerd

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// pausePath is the path in the guest of its first process.
const pausePath = "/dev/pause"

// pauseUser is the user of the pause: nobody, so that the command can neither signal
// nor trace it.
const pauseUser = 65534

// pauseProgram is the machine code of the container's first process. It ignores
// SIGCHLD, so that the kernel reaps orphans, and waits forever:
//
//	act := sigaction{handler: SIG_IGN}
//	rt_sigaction(SIGCHLD, &act, nil, 8)
//	for { pause() }
//
// The command starts next to it, not as process 1. For process 1, the kernel drops
// signals without a handler, and no agent knows that it would have to reap orphans. The
// program takes one page of memory and needs no program in the image.
var pauseProgram = map[string]struct {
	machine elf.Machine
	code    []byte
}{
	"amd64": {elf.EM_X86_64, []byte{
		0xb8, 0x0d, 0x00, 0x00, 0x00, // MOVL $13, AX      rt_sigaction
		0xbf, 0x11, 0x00, 0x00, 0x00, // MOVL $17, DI      SIGCHLD
		0x48, 0x8d, 0x35, 0x17, 0x00, 0x00, 0x00, // LEAQ act(IP), SI
		0x31, 0xd2, // XORL DX, DX
		0x41, 0xba, 0x08, 0x00, 0x00, 0x00, // MOVL $8, R10
		0x0f, 0x05, // SYSCALL
		0xb8, 0x22, 0x00, 0x00, 0x00, // MOVL $34, AX      pause
		0x0f, 0x05, // SYSCALL
		0xeb, 0xf7, // JMP -9
		0x90, 0x90, 0x90, 0x90, // padding; act follows
	}},
	"arm64": {elf.EM_AARCH64, littleEndian(
		0xd28010c8, // MOVD $134, R8     rt_sigaction
		0xd2800220, // MOVD $17, R0      SIGCHLD
		0x10000181, // ADR 48(PC), R1    act
		0xaa1f03e2, // MOVD ZR, R2
		0xb27d03e3, // ORR $8, ZR, R3
		0xd4000001, // SVC $0
		0xd2800928, // MOVD $73, R8      ppoll
		0xaa1f03e0, // MOVD ZR, R0
		0xaa1f03e1, // MOVD ZR, R1
		0xaa1f03e2, // MOVD ZR, R2
		0xaa1f03e3, // MOVD ZR, R3
		0xaa1f03e4, // MOVD ZR, R4
		0xd4000001, // SVC $0
		0x17fffff9, // JMP -7(PC); act follows
	)},
}

func littleEndian(words ...uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// sigIgn is act: the kernel's struct sigaction with SIG_IGN as its handler.
var sigIgn = append([]byte{1}, make([]byte, 31)...)

// pauseELF returns the program as an executable file.
func pauseELF(arch string) ([]byte, error) {
	p, ok := pauseProgram[arch]
	if !ok {
		return nil, fmt.Errorf("the containerd runtime has no first process for %s", arch)
	}
	return image.Program(p.machine, slices.Concat(p.code, sigIgn))
}

// pauseFile writes the program below the folder, unless it exists.
func pauseFile(root string) (string, error) {
	text, err := pauseELF(runtime.GOARCH)
	if err != nil {
		return "", err
	}
	name := filepath.Join(root, "pause")
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, text) {
		return name, nil
	}
	return name, nolink.WriteFile(name, text, 0o555, false)
}
