package pyenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
)

// signs are files that only a home folder has.
var signs = []string{".ssh", ".profile", ".bashrc", ".bash_history"}

// closed rejects an installation of which parts are a folder that no agent may see.
func (i Interpreter) closed(private ...string) error {
	if checkout.Below(i.Prefix, "/usr") { // an agent without an image sees it anyway
		return nil
	}
	if err := closed(i.Prefix, private); err != nil {
		return fmt.Errorf("the Python %s is installed with the prefix %w. Use one in a folder of its own, such as that of Debian, pyenv, uv or conda", i.Path, err)
	}
	return nil
}

// closed returns an error if a folder is or contains one that no agent may see: the
// user's or another's home, the working folder, or one of the private folders.
func closed(dir string, private []string) error {
	real, err := checkout.Follow(dir)
	if err != nil {
		return err
	}
	reject := func(inner, what string) error {
		if inner == real {
			return fmt.Errorf("%s, which is %s; an agent must not see that", dir, what)
		}
		return fmt.Errorf("%s, which contains %s, %s; an agent must not see that", dir, inner, what)
	}
	if home := checkout.Home(); home != "" && checkout.Below(home, real) {
		return reject(home, "your home folder")
	}
	if work, err := os.Getwd(); err == nil {
		private = append([]string{work}, private...)
	}
	for _, inner := range private {
		if inner, err := checkout.Follow(inner); err == nil && checkout.Below(inner, real) {
			return reject(inner, "a folder of this pipeline or its cache")
		}
	}
	for _, name := range signs {
		if _, err := os.Lstat(filepath.Join(real, name)); err == nil {
			return reject(real, "a home folder, since it has "+name)
		}
	}
	users, _ := os.ReadFile("/etc/passwd")
	for line := range strings.Lines(string(users)) {
		if fields := strings.Split(line, ":"); len(fields) > 5 && filepath.IsAbs(fields[5]) && fields[5] != "/" {
			if info, err := os.Stat(fields[5]); err == nil && info.IsDir() && checkout.Below(filepath.Clean(fields[5]), real) {
				return reject(filepath.Clean(fields[5]), "the home folder of "+fields[0])
			}
		}
	}
	return nil
}
