package small

import (
	"embed"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// built has the file "program" in a program that make has built.
//
//go:embed built
var built embed.FS

// Path returns a path by which this process can start the small program, or "" if it has
// none or may not start it.
var Path = sync.OnceValue(func() string {
	text, err := built.ReadFile("built/program")
	if err != nil {
		return ""
	}
	fd, err := unix.MemfdCreate("mleflow", unix.MFD_CLOEXEC|unix.MFD_EXEC|unix.MFD_ALLOW_SEALING)
	if err == unix.EINVAL { // before Linux 6.3, every such file can be executed
		fd, err = unix.MemfdCreate("mleflow", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return ""
	}
	return hold(os.NewFile(uintptr(fd), "mleflow"), text)
})

// lowest is a number above all descriptors that a child gets, which would replace this
// one before the child starts the program.
const lowest = 200

// hold writes the program to the file, which stays open as long as this process.
func hold(f *os.File, text []byte) string {
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		return ""
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return ""
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, lowest)
	if err != nil {
		return ""
	}
	path := "/proc/self/fd/" + strconv.Itoa(fd)
	if exec.Command(path).Run() != nil { // refused by a security module
		return ""
	}
	return path
}
