package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// outputProbes try what is written: the terminal of a person who watches, and disk space.
func outputProbes() []probe {
	return []probe{
		{"terminal", "escape sequences in its output: clear, title, clipboard, links, line ends", func(*hunter) (string, bool) {
			fmt.Print("\x1b[2J\x1b[1;1H\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b]8;;http://evil\x07link\x1b]8;;\x07\rstep.grade.score finished\x08\x08\x9b31m\u202eowned\n")
			return "printed (the host sees what is shown)", false
		}},
		{"log flood", "32 MiB of output, a line of 4 MiB, bytes that are not text", func(*hunter) (string, bool) {
			line := bytes.Repeat([]byte("x"), 4<<20)
			_, err := os.Stdout.Write(append(line, '\n'))
			for range 28 {
				if err == nil {
					_, err = os.Stdout.Write(bytes.Repeat([]byte("flood\x00\xff flood\n"), 1<<16))
				}
			}
			return errno(err), false
		}},
		{"disk", "write until the disk is full", func(*hunter) (string, bool) {
			if watched() {
				return "the attempt would be ended: the host sees what is stored", false
			}
			n, err := fill("/home/code/big", 2<<30)
			_ = os.Remove("/home/code/big")
			return fmt.Sprintf("%d MiB, then %s", n>>20, errno(err)), err == nil
		}},
		{"memory file systems", "fill /tmp, /run and /dev/shm", func(*hunter) (string, bool) {
			var got []string
			open := false
			dirs := []string{"/run", "/dev/shm"}
			if !watched() { // else it is a folder of the host's
				dirs = append(dirs, "/tmp")
			}
			for _, dir := range dirs {
				n, err := fill(dir+"/big", 600<<20)
				_ = os.Remove(dir + "/big")
				open = open || err == nil
				got = append(got, fmt.Sprintf("%s %d MiB %s", dir, n>>20, errno(err)))
			}
			return strings.Join(got, "; "), open
		}},
		{"read-only root", "write outside its folders: /, /etc, /usr/bin, /dev", func(*hunter) (string, bool) {
			var got []string
			open := false
			for _, path := range []string{"/new", "/etc/new", "/usr/bin/new", "/dev/new", "/proc/new", "/sys/new", "/var/new"} {
				err := os.WriteFile(path, nil, 0o644)
				open = open || err == nil
				got = append(got, path+" "+short(err))
			}
			return strings.Join(got, "; "), open
		}},
		{"inodes", "make small files until no inode is left", func(*hunter) (string, bool) {
			dir := "/home/code/many"
			_ = os.Mkdir(dir, 0o755)
			var err error
			n, most := 0, 5_000
			if !watched() && os.Getenv("AIM_USER") == "" { // a volume of the attempt's size has fewer
				most = 30_000
			}
			for ; n < most && err == nil; n++ {
				var fd int
				fd, err = unix.Open(fmt.Sprintf("%s/%d", dir, n), unix.O_CREAT|unix.O_WRONLY, 0o644)
				unix.Close(fd)
			}
			removed := os.RemoveAll(dir)
			return fmt.Sprintf("%d, then %s; removed: %s", n, errno(err), errno(removed)), err == nil
		}},
	}
}

// fill writes at most limit bytes.
func fill(path string, limit int64) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for n := int64(0); n < limit; n += int64(len(block)) {
		if _, err := f.Write(block); err != nil {
			return n, err
		}
	}
	return limit, nil
}

// submissionProbes leave traps for the harvest.
func submissionProbes() []probe {
	dir := os.Getenv("SUBMISSION_DIR")
	aims := append(filepath.SplitList(os.Getenv("AIM_FILES")), "/etc/shadow", "/etc/passwd", "/proc/1/environ", "/proc/self/environ", "/root")
	leave := func(name, tried string, do func() error) probe {
		return probe{name, tried, func(*hunter) (string, bool) {
			return errno(do()) + " (the host sees what is harvested)", false
		}}
	}
	return []probe{
		leave("symbolic links", "links to files and folders of the host in all kept folders, relative and absolute, and a loop", func() error {
			var all error
			for i, aim := range aims {
				for _, d := range []string{dir, os.Getenv("CODE_DIR"), os.Getenv("LOGS_DIR")} {
					all = errors.Join(all, os.Symlink(aim, fmt.Sprintf("%s/link%d.csv", d, i)))
				}
				all = errors.Join(all, os.Symlink("../../../../../../../../.."+aim, fmt.Sprintf("%s/relative%d.csv", dir, i)))
			}
			return errors.Join(all, os.Symlink(".", dir+"/loop"), os.Symlink("/", dir+"/root"))
		}),
		leave("hard links", "hard links to files that it may read but does not own", func() error {
			err := os.Link("/usr/bin/rogue", dir+"/hard")
			if err == nil {
				return nil
			}
			return errors.Join(err, os.Link("/proc/self/environ", dir+"/hard2"), os.Link("/etc/hosts", dir+"/hard3"))
		}),
		leave("pipes and sockets", "a named pipe and a socket that would block the harvest", func() error {
			l, err := net.Listen("unix", dir+"/socket")
			if err == nil {
				l.(*net.UnixListener).SetUnlinkOnClose(false)
			}
			return errors.Join(err, unix.Mkfifo(dir+"/pipe.csv", 0o644))
		}),
		leave("sparse file", "a file of 1 TiB without content", func() error {
			f, err := os.Create(os.Getenv("CODE_DIR") + "/sparse")
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Truncate(1 << 40)
		}),
		leave("deep folders", "2,000 nested folders", func() error {
			fd, err := unix.Open(os.Getenv("CODE_DIR"), unix.O_RDONLY, 0)
			for i := 0; i < 2000 && err == nil; i++ {
				if err = unix.Mkdirat(fd, "deep", 0o755); err != nil {
					break
				}
				next, bad := unix.Openat(fd, "deep", unix.O_RDONLY, 0)
				unix.Close(fd)
				fd, err = next, bad
			}
			return err
		}),
		leave("strange names", "names with line ends, escapes, invalid UTF-8, 255 bytes, backslashes, and folders without permissions", func() error {
			var all error
			for _, name := range []string{"a\nb", "\x1b[2J", "\xff\xfe", strings.Repeat("n", 255), `..\..\x`, "-rf", "$(reboot)", " "} {
				all = errors.Join(all, os.WriteFile(os.Getenv("CODE_DIR")+"/"+name, []byte("x"), 0o644))
			}
			return errors.Join(all, os.Mkdir(os.Getenv("CODE_DIR")+"/locked", 0), os.WriteFile(os.Getenv("CODE_DIR")+"/unreadable", nil, 0))
		}),
		leave("log in its place", "the name of its output log, as a link", func() error {
			return os.Symlink("/etc/shadow", os.Getenv("LOGS_DIR")+"/output.log")
		}),
		leave("folder replaced", "its own folder replaced by a link to the root", func() error {
			agent := os.Getenv("AGENT_DIR")
			return errors.Join(os.Rename(agent, agent+"-old"), os.Symlink("/", agent))
		}),
		leave("submission", "finally a valid submission", func() error {
			sample, err := os.ReadFile("/home/data/sample_submission.csv")
			return errors.Join(err, os.WriteFile(dir+"/submission.csv", sample, 0o644))
		}),
	}
}

// watched says that no file system limits what is stored, but a watcher that ends the
// attempt.
func watched() bool { return os.Getenv("AIM_DISK") == "watched" }
