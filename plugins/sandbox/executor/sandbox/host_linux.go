package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// hostImage is the image of a Spec whose guest sees the programs of this machine: the
// content of hostFolders and hostSettings, read-only, and nothing else of it.
const hostImage = "host:"

// hostFolders contain programs and libraries. Links among them stay links.
var hostFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// hostSettings are the entries of /etc that programs need: no accounts, keys or
// configurations of services. Users and names are texts of our own.
var hostSettings = []string{
	"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "fonts", "OpenCL",
	"ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust/extracted", "crypto-policies", "python3", "R", "julia",
}

// hostRoot creates, below dir, the root for a guest that sees this machine's programs:
// the folders to mount over, and the links.
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

// hostMounts returns the parts of this machine that such a guest sees, and the private
// folders in them that it does not see.
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
	return slices.ContainsFunc(hostFolders, func(name string) bool { return inside(path, name) })
}

func inside(path, dir string) bool { return strings.HasPrefix(path, dir+"/") }

// private returns the folders that no guest without an image may see, and this program,
// which contains the thresholds of competitions.
func (e *Executor) private() []string {
	list := e.folders()
	if self, err := os.Executable(); err == nil {
		list = append(list, self)
	}
	return list
}

// folders returns this user's folders that no guest may see, wherever they are.
func (e *Executor) folders() (list []string) {
	for _, dir := range append([]string{os.Getenv("HOME"), os.TempDir(), filepath.Dir(e.opts.Dir)}, e.opts.Private...) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			list = append(list, filepath.Clean(dir))
		}
	}
	if dir, err := os.Getwd(); err == nil && dir != "/" {
		list = append(list, dir)
	}
	return list
}

// revealed refuses mounts that would show a private folder to the guest, whoever named
// them: it is mounted, or is in what is mounted.
func (e *Executor) revealed(mounts []mountPlan) error {
	for _, dir := range e.folders() {
		dir := nolink.Folder(dir)
		for _, m := range mounts {
			if checkout.Below(dir, nolink.Folder(string(m.Host))) {
				return fmt.Errorf("run command: mount %s at %s: the guest must not see %s, which is in it", m.Host, m.Guest, dir)
			}
		}
	}
	return nil
}

// accounts returns the files that name the guest's user.
func accounts(user ids) map[string]string {
	return map[string]string{
		"/etc/passwd":        fmt.Sprintf("root:x:0:0::/:/bin/sh\nagent:x:%d:%d::/home/agent:/bin/sh\n", user.UID, user.GID),
		"/etc/group":         fmt.Sprintf("root:x:0:\nagent:x:%d:\n", user.GID),
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
	}
}

// onHost adds the guest's view of this machine to the plan.
func (p *plan) onHost(private []string) {
	mounts, masked := hostMounts(private)
	p.Mounts, p.Masked = append(mounts, p.Mounts...), append(masked, p.Masked...)
	for name, text := range accounts(p.User) {
		p.Files[name] = text
	}
}

// HostProgram returns the reason why a guest without an image does not see a program
// that the caller would find by its name. It returns nil if the guest sees it, or if
// there is no such program.
func HostProgram(name string) error {
	path, err := executor.LookPath(name, os.Environ(), "/")
	if err != nil {
		return nil //nolint:nilerr // the guest will not find it either, and report that
	}
	// The guest needs the folder of the program and the target of a link.
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
