package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// hostImage is the image of a Spec that stands for the programs of this machine: what
// is in hostFolders and hostSettings, read-only, and nothing else of it.
const hostImage = "host:"

// hostFolders hold programs and libraries. Links among them stay links.
var hostFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// hostSettings are what programs need of /etc: no accounts, keys or configurations of
// services. Users and names are texts of our own.
var hostSettings = []string{
	"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "fonts", "OpenCL",
	"ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust/extracted", "crypto-policies", "python3", "R", "julia",
}

// hostRoot makes the root of a guest that sees this machine's programs, below dir: the
// folders where they are mounted, and the links.
func hostRoot(dir string) (*unpacked, error) {
	lock, err := os.Open(os.DevNull) // others share nothing of it
	if err != nil {
		return nil, err
	}
	u := &unpacked{root: filepath.Join(dir, rootName), lock: lock, host: true}
	u.config = ocispec.ImageConfig{Env: []string{"PATH=" + executor.DefaultPath}}
	errs := []error{os.RemoveAll(u.root)}
	for _, name := range []string{"proc", "sys", "dev", "run", "tmp", "home", "etc", "var"} {
		errs = append(errs, os.MkdirAll(filepath.Join(u.root, name), 0o755))
	}
	errs = append(errs, os.Symlink("/tmp", filepath.Join(u.root, "var/tmp")), os.Symlink("/run", filepath.Join(u.root, "var/run")))
	for _, name := range hostFolders {
		if target, err := os.Readlink(name); err == nil {
			errs = append(errs, os.Symlink(target, filepath.Join(u.root, name)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return u, nil
}

// hostMounts are the parts of this machine that such a guest sees, and what of them it
// does not: private folders.
func hostMounts(private []string) (mounts []mountPlan, masked []hostText) {
	for _, name := range hostFolders {
		if info, err := os.Lstat(name); err == nil && info.IsDir() {
			mounts = append(mounts, mountPlan{hostText(name), name, true})
		}
	}
	for _, name := range hostSettings {
		name = filepath.Join("/etc", name)
		if target, err := filepath.EvalSymlinks(name); err == nil && (inside(target, "/etc") || visible(target)) {
			mounts = append(mounts, mountPlan{hostText(target), name, true})
		}
	}
	for _, dir := range private {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if visible(dir) {
			masked = append(masked, hostText(dir))
		}
	}
	return mounts, masked
}

// visible reports whether a path without links is in a folder that the guest sees.
func visible(path string) bool {
	for _, name := range hostFolders {
		if inside(path, name) {
			return true
		}
	}
	return false
}

func inside(path, dir string) bool { return strings.HasPrefix(path, dir+"/") }

// private are the folders of this user that no guest sees, wherever they are, and this
// program, which holds the thresholds of competitions.
func (e *Executor) private() (list []string) {
	for _, dir := range append([]string{os.Getenv("HOME"), os.TempDir(), filepath.Dir(e.opts.Dir)}, e.opts.Private...) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			list = append(list, filepath.Clean(dir))
		}
	}
	if dir, err := os.Getwd(); err == nil && dir != "/" {
		list = append(list, dir)
	}
	if self, err := os.Executable(); err == nil {
		list = append(list, self)
	}
	return list
}

// accounts are the texts that name the guest.
func accounts(user ids) map[string]string {
	return map[string]string{
		"/etc/passwd":        fmt.Sprintf("root:x:0:0::/:/bin/sh\nagent:x:%d:%d::/home/agent:/bin/sh\n", user.UID, user.GID),
		"/etc/group":         fmt.Sprintf("root:x:0:\nagent:x:%d:\n", user.GID),
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
	}
}

// onHost puts what the guest sees of this machine into the plan.
func (p *plan) onHost(private []string) {
	mounts, masked := hostMounts(private)
	p.Mounts, p.Masked = append(mounts, p.Mounts...), append(masked, p.Masked...)
	for name, text := range accounts(p.User) {
		p.Files[name] = text
	}
}

// HostProgram says why a program that the caller would find by its name is not among
// those that a guest sees without an image, nil if it is or if there is none.
func HostProgram(name string) error {
	path, err := executor.LookPath(name, os.Environ(), "/")
	if err != nil {
		return nil //nolint:nilerr // the guest will not find it either, and say so
	}
	// The guest needs the folder that the program is in, and what a link leads to.
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || visible(real) && (visible(folder+"/") || !strings.Contains(name, "/")) {
		return nil //nolint:nilerr // as above
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "pyvenv.cfg")); err == nil {
		return fmt.Errorf("%s belongs to a virtual environment, which a sandbox shows only if the agent block names it: python { venv = %q }; the command then starts with \"python\"", path, filepath.Dir(folder))
	}
	return fmt.Errorf("without an image, a sandbox shows only programs in /usr, not %s; give the agent an image or, for packages of Python, a python block", path)
}
