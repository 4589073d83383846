package docker

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// explain adds to an error of the server what it means here.
func (s *Server) explain(err error) error {
	err = tidy(err)
	if text := err.Error(); strings.Contains(text, "bind source path does not exist") || strings.Contains(text, "statfs") && strings.Contains(text, "no such file") {
		return fmt.Errorf("%w: %s does not see this machine's folders; it runs in another machine or container than mleflow", err, s.Name)
	}
	return err
}

// describe returns the container of a command.
func (e *Executor) describe(s *Server, c sandbox.Container) (*container.Config, *container.HostConfig, error) {
	self, err := e.program(c.Self)
	if err != nil {
		return nil, nil, fmt.Errorf("copy mleflow for containers: %w", err)
	}
	user, added := c.User, []string{}
	if caps := c.Spec.Sandbox.Capabilities; len(caps) > 0 { // only root of a container gets them, and passes them on
		user, added = first.IDs{}, append(slices.Clone(caps), "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL")
	}
	config := &container.Config{
		Image: c.Image, Hostname: executor.Hostname, User: fmt.Sprintf("%d:%d", user.UID, user.GID), WorkingDir: "/",
		Entrypoint: []string{initPath}, Cmd: []string{first.Command}, Labels: e.labels(c),
		Env:        append([]string{first.Variable + "=" + doorPath}, quiet...),
		StopSignal: "SIGKILL", StopTimeout: new(int), Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
	no := false
	host := &container.HostConfig{
		NetworkMode: "none", ReadonlyRootfs: true, Init: &no, CapDrop: []string{"ALL"}, CapAdd: added, IpcMode: "private", CgroupnsMode: "private",
		SecurityOpt: s.security(c.Plan), UsernsMode: s.namespace(c.User), Runtime: c.Spec.Sandbox.Handler,
		ShmSize: cmp.Or(c.Spec.Sandbox.ShmBytes, executor.DefaultShmBytes), Tmpfs: map[string]string{}, LogConfig: container.LogConfig{Type: "none"},
		ReadonlyPaths: c.Plan.ReadOnly, Resources: s.resources(c),
	}
	for _, p := range c.Plan.Masked {
		host.MaskedPaths = append(host.MaskedPaths, string(p))
	}
	if c.Spec.Network.Open {
		host.NetworkMode, config.Hostname = "host", ""
	}
	for _, t := range c.Plan.Tmpfs {
		if t.Guest != "/dev/shm" {
			host.Tmpfs[t.Guest] = "rw,exec,nosuid,nodev,mode=1777,size=" + strconv.FormatInt(t.Bytes, 10)
		}
	}
	host.Mounts, err = mounts(c, self)
	return config, host, err
}

// quiet are empty values of the variables that would change how the first process runs, as
// an image can set any.
var quiet = []string{"GODEBUG=", "GOGC=", "GOMEMLIMIT=", "GOTRACEBACK=", "GOMAXPROCS=1", "GOCOVERDIR="}

func (e *Executor) labels(c sandbox.Container) map[string]string {
	labels := map[string]string{}
	for name, value := range c.Spec.Labels {
		if len(name)+len(value) < 4000 {
			labels["mleflow/"+name] = value
		}
	}
	labels[labelID], labels[labelRun] = c.Spec.ID, e.token+"/"+c.Run
	return labels
}

func (s *Server) security(p *first.Plan) []string {
	list := []string{"no-new-privileges"}
	if s.selinux { // it would refuse the door and every folder of the step
		list = append(list, "label=disable")
	}
	if s.podman {
		for _, path := range p.Masked {
			list = append(list, "mask="+string(path))
		}
	}
	return list
}

// cpuPeriod is the kernel's accounting period for processor time, in microseconds.
const cpuPeriod = 100_000

func (s *Server) resources(c sandbox.Container) (r container.Resources) {
	l := c.Spec.Limits
	if s.Memory && l.MemoryBytes > 0 {
		r.Memory = l.MemoryBytes
		if s.swap {
			r.MemorySwap = l.MemoryBytes
		}
	}
	if s.CPUs && l.CPUs > 0 {
		r.CPUPeriod, r.CPUQuota = cpuPeriod, max(int64(l.CPUs*cpuPeriod), 1000)
	}
	if s.Processes && l.Processes > 0 {
		most := int64(l.Processes) + first.Threads
		r.PidsLimit = &most
	}
	if c.Devices && len(c.Spec.Devices) > 0 {
		r.DeviceRequests = []container.DeviceRequest{{Driver: "cdi", DeviceIDs: c.Spec.Devices}}
		return r
	}
	for _, d := range c.Plan.Devices {
		if !usual[d.Guest] {
			r.Devices = append(r.Devices, container.DeviceMapping{PathOnHost: string(d.Host), PathInContainer: d.Guest, CgroupPermissions: "rwm"})
		}
	}
	return r
}

// usual are the devices that every container has.
var usual = map[string]bool{"/dev/null": true, "/dev/zero": true, "/dev/full": true, "/dev/random": true, "/dev/urandom": true, "/dev/tty": true}

// mounts returns what is mounted into a container: the first process and its door, the
// files that describe the guest, and what the step mounts.
func mounts(c sandbox.Container, self string) ([]mount.Mount, error) {
	list := []mount.Mount{bind(self, initPath, true), bind(c.Door, doorPath, true)}
	etc := filepath.Join(c.Dir, "etc") // no guest shares a file with another one
	if err := os.MkdirAll(etc, 0o755); err != nil {
		return nil, err
	}
	for i, at := range slices.Sorted(keys(c.Plan.Files)) {
		file := filepath.Join(etc, strconv.Itoa(i))
		if err := nolink.WriteFile(file, []byte(c.Plan.Files[at]), 0o644, false); err != nil {
			return nil, err
		}
		list = append(list, bind(file, at, true))
	}
	taken := map[string]bool{}
	for _, m := range c.Plan.Mounts {
		list = append(list, bind(string(m.Host), m.Guest, m.ReadOnly))
		taken[m.Guest] = true
	}
	for _, t := range c.Plan.Tmpfs {
		taken[t.Guest] = true
	}
	for _, at := range c.Volumes { // the guest must not write to what the image calls a volume
		if at = path.Clean(at); !taken[at] && path.IsAbs(at) {
			list = append(list, mount.Mount{Type: mount.TypeVolume, Target: at, ReadOnly: true})
		}
	}
	return list, nil
}

func bind(from, to string, readOnly bool) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: from, Target: to, ReadOnly: readOnly, BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate}}
}
