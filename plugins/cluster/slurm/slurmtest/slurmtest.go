// Package slurmtest starts a real Slurm of two nodes for tests: Debian's
// slurmctld, slurmd, slurm-client and munge, as the user who runs the test, on
// loopback.
package slurmtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nodes are the nodes, the first with two GPUs that are none.
var Nodes = []string{"node1", "node2"}

// Cluster is a running Slurm.
type Cluster struct {
	// Dir holds everything; jobs and tests see it. Conf is the value of SLURM_CONF.
	Dir, Conf string
	// Ports are those of the controller and of the nodes.
	Ports []int
	Host  string
	User  string
}

// conf is slurm.conf. A job that is started again waits for two minutes, unless someone
// hastens it, and a node is down when it has been silent for SlurmdTimeout. Jobs of
// the partition urgent preempt those of main.
const conf = `ClusterName=test
SlurmctldHost=@HOST@(127.0.0.1)
SlurmUser=@USER@
SlurmdUser=@USER@
AuthType=auth/munge
AuthInfo=socket=@DIR@/munge.sock
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPort=@PORT0@
StateSaveLocation=@DIR@/state
SlurmdSpoolDir=@DIR@/spool.%n
SlurmctldPidFile=@DIR@/slurmctld.pid
SlurmdPidFile=@DIR@/slurmd.%n.pid
SlurmctldLogFile=@DIR@/slurmctld.log
SlurmdLogFile=@DIR@/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=256
GresTypes=gpu
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
KillWait=5
MinJobAge=300
SlurmdTimeout=5
InactiveLimit=0
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=node1 NodeHostname=@HOST@ NodeAddr=127.0.0.1 Port=@PORT1@ CPUs=2 RealMemory=2000 Gres=gpu:fake:2 State=UNKNOWN
NodeName=node2 NodeHostname=@HOST@ NodeAddr=127.0.0.1 Port=@PORT2@ CPUs=2 RealMemory=2000 State=UNKNOWN
PartitionName=main Nodes=node1,node2 Default=YES PriorityTier=1 MaxTime=INFINITE State=UP
PartitionName=short Nodes=node2 PriorityTier=1 MaxTime=1-02:30:00 State=UP
PartitionName=urgent Nodes=node1,node2 PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE State=UP
`

// Start starts a cluster, which is stopped when the test ends, and sets
// SLURM_CONF. Its slurm.conf has further lines. It skips the test where Slurm is not installed.
func Start(t *testing.T, lines ...string) *Cluster {
	t.Helper()
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (Debian: slurmctld slurmd slurm-client munge)", program)
		}
	}
	// Not t.TempDir: the path of a socket is at most 107 bytes long.
	dir, err := os.MkdirTemp("", "slurm")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Dir: dir, Conf: filepath.Join(dir, "slurm.conf"), Ports: ports(t)}
	t.Cleanup(func() {
		c.stop()
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
			for _, path := range logs {
				text, _ := os.ReadFile(path)
				t.Logf("%s:\n%s", path, text[max(0, len(text)-4000):])
			}
		}
		os.RemoveAll(dir)
	})
	t.Setenv("SLURM_CONF", c.Conf)
	c.configure(t, lines)
	c.munge(t)
	c.run(t, "slurmctld", "-f", c.Conf)
	for _, n := range Nodes {
		c.run(t, "slurmd", "-f", c.Conf, "-N", n)
	}
	c.await(t, "idle", 2)
	return c
}

func ports(t *testing.T) (list []int) {
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		list = append(list, l.Addr().(*net.TCPAddr).Port)
	}
	return list
}

func (c *Cluster) configure(t *testing.T, lines []string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	c.Host, _, _ = strings.Cut(host, ".")
	c.User = me.Username
	values := []string{"@HOST@", c.Host, "@USER@", c.User, "@DIR@", c.Dir}
	for i, port := range c.Ports {
		values = append(values, fmt.Sprintf("@PORT%d@", i), strconv.Itoa(port))
	}
	text := strings.NewReplacer(values...).Replace(conf) + strings.Join(append(lines, ""), "\n")
	key := make([]byte, 1024)
	_, _ = rand.Read(key) // never fails
	for name, data := range map[string][]byte{
		"slurm.conf": []byte(text), "munge.key": key,
		"cgroup.conf": []byte("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"),
		"gres.conf":   []byte("AutoDetect=off\nNodeName=node1 Name=gpu Type=fake File=/dev/null\nNodeName=node1 Name=gpu Type=fake File=/dev/zero\n"),
	} {
		mode := os.FileMode(0o644)
		if name == "munge.key" {
			mode = 0o400
		}
		if err := os.WriteFile(filepath.Join(c.Dir, name), data, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"state", "spool.node1", "spool.node2"} {
		if err := os.Mkdir(filepath.Join(c.Dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) munge(t *testing.T) {
	in := func(name string) string { return filepath.Join(c.Dir, name) }
	c.run(t, "munged", "--force", "--key-file="+in("munge.key"), "--socket="+in("munge.sock"), "--pid-file="+in("munged.pid"),
		"--log-file="+in("munged.log"), "--seed-file="+in("munge.seed"))
}

// run runs a command that ends, or becomes a daemon.
func (c *Cluster) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	out, err := os.CreateTemp(c.Dir, "out") // a daemon keeps it open: no pipe
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	text, _ := os.ReadFile(out.Name())
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, text)
	}
	return string(text)
}

// await waits until n nodes are in a state.
func (c *Cluster) await(t *testing.T, state string, n int) {
	t.Helper()
	var last string
	for limit := time.Now().Add(2 * time.Minute); time.Now().Before(limit); time.Sleep(200 * time.Millisecond) {
		out, _ := exec.Command("sinfo", "--noheader", "--Node", "--format=%T").CombinedOutput()
		if last = string(out); strings.Count(last, state) >= n {
			return
		}
	}
	t.Fatalf("%d nodes are not %s: %s", n, state, last)
}

// Restart ends Slurm's controller, waits a little, and starts it again.
func (c *Cluster) Restart(t *testing.T) {
	t.Helper()
	c.kill("slurmctld.pid", syscall.SIGTERM)
	for limit := time.Now().Add(time.Minute); exec.Command("squeue").Run() == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("slurmctld does not end")
		}
	}
	time.Sleep(2 * time.Second)
	c.run(t, "slurmctld", "-f", c.Conf)
}

// LoseNode kills a node's daemon with everything that runs on it, and tells the
// controller, which would find it out; back starts it again.
func (c *Cluster) LoseNode(t *testing.T, node string) (back func()) {
	t.Helper()
	c.kill("slurmd."+node+".pid", syscall.SIGKILL)
	// A job that Slurm calls running may be about to be started.
	killed := false
	for limit, quiet := time.Now().Add(10*time.Second), 0; quiet < 5 && time.Now().Before(limit); time.Sleep(100 * time.Millisecond) {
		pids := c.processes(node)
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} { // none sees another end
			for _, pid := range pids {
				_ = syscall.Kill(pid, signal)
			}
		}
		if killed = killed || len(pids) > 0; killed {
			quiet++
		}
		if len(pids) > 0 {
			quiet = 0
		}
	}
	c.run(t, "scontrol", "update", "NodeName="+node, "State=DOWN", "Reason=lost")
	return func() {
		c.run(t, "slurmd", "-f", c.Conf, "-N", node)
		c.await(t, "idle", len(Nodes))
	}
}

// processes are the processes of jobs on a node, after the slurmstepd that
// watches them.
func (c *Cluster) processes(node string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if !bytes.Contains(env, []byte("SLURM_CONF="+c.Conf)) || !bytes.Contains(env, []byte("SLURMD_NODENAME="+node)) {
			continue
		}
		if pids = append(pids, pid); watcher(pid) != 0 {
			pids = slices.Insert(pids, 0, watcher(pid))
		}
	}
	return pids
}

// watcher is the slurmstepd that is the parent of a process; 0 for none. Its own
// environment is closed to the user who runs it.
func watcher(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(status), "\nPPid:")
	line, _, _ := strings.Cut(after, "\n")
	parent, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0
	}
	if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", parent)); !bytes.HasPrefix(name, []byte("slurmstepd")) {
		return 0
	}
	return parent
}

func (c *Cluster) kill(pidFile string, signal syscall.Signal) {
	text, err := os.ReadFile(filepath.Join(c.Dir, pidFile))
	if err != nil {
		return
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
		_ = syscall.Kill(pid, signal)
	}
}

func (c *Cluster) stop() {
	_ = exec.Command("scancel", "--user="+c.User).Run()
	for _, n := range Nodes {
		c.kill("slurmd."+n+".pid", syscall.SIGTERM)
	}
	c.kill("slurmctld.pid", syscall.SIGKILL)
	c.kill("munged.pid", syscall.SIGTERM)
	for _, n := range Nodes {
		for _, pid := range c.processes(n) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
