package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/rehearse"
)

// maxSource bounds how much of an agent is read for its imports.
const maxSource = 4 << 20

// imported finds the modules that a line of Python imports.
var imported = regexp.MustCompile(`(?m)^[ \t]*(?:import[ \t]+([\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)|from[ \t]+([\w.]+)[ \t]+import\b)`)

// standard are the modules of Python itself, 3.9 to 3.14.
var standard = strings.Fields(`abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii binhex bisect
builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall compression concurrent configparser contextlib
contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno
faulthandler fcntl filecmp fileinput fnmatch formatter fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq
hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal
math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath numbers opcode operator optparse os ossaudiodev parser pathlib pdb
pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue
quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket
socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau symbol symtable sys sysconfig
syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle
types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport
zlib zoneinfo __future__ __main__ mlebench`)

// packagesOf returns the packages that a program in Python imports, sorted: neither
// modules of Python itself nor files beside it.
func packagesOf(agent string) ([]string, error) {
	f, err := os.Open(agent)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, maxSource)
	n, err := f.Read(text)
	if err != nil && n == 0 {
		return nil, nil //nolint:nilerr // an empty file imports nothing
	}
	var names []string
	for _, m := range imported.FindAllStringSubmatch(string(text[:n]), -1) {
		for module := range strings.SplitSeq(m[1]+m[2], ",") {
			module, _, _ = strings.Cut(strings.TrimSpace(module), " ")
			top, _, _ := strings.Cut(module, ".")
			if top == "" || slices.Contains(standard, top) || isLocal(filepath.Dir(agent), top) {
				continue
			}
			names = append(names, rehearse.Distribution(top))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func isLocal(dir, module string) bool {
	for _, name := range []string{module, module + ".py"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// pythonBlock returns the line of an agent block for the packages that a program
// imports, "" if it imports none, and writes a requirements.txt beside the pipeline
// unless there is one.
func pythonBlock(a *app.App, file, agent string) (string, error) {
	packages, err := packagesOf(agent)
	if err != nil || len(packages) == 0 {
		return "", err
	}
	const requirements = "requirements.txt"
	path := filepath.Join(filepath.Dir(file), requirements)
	err = wholefile.Create(path, 0o644, wholefile.Bytes([]byte(strings.Join(packages, "\n")+"\n")))
	switch {
	case errors.Is(err, fs.ErrExist):
		fmt.Fprintf(a.Stderr, "%s imports %s: the pipeline installs what %s names.\n", agent, strings.Join(packages, ", "), path)
	case err != nil:
		return "", fmt.Errorf("write %s: %w", path, err)
	default:
		fmt.Fprintf(a.Stderr, "Wrote %s with the packages that %s imports: %s.\n", path, agent, strings.Join(packages, ", "))
	}
	return "  python { requirements = \"" + requirements + "\" } # installed once, then locked in requirements.lock\n", nil
}
