package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/pkg/archive"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// imageTag is the name under which images are loaded; the digest follows.
const imageTag = "mleflow.local/image:"

func keys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// image finds the image at the server, or loads it there, and describes it in p.
func (e *Executor) image(ctx context.Context, s *Server, text string, open func(dir string) (v1.Image, error), dir string, p *sandbox.Place) error {
	ref, err := image.ParseRef(text)
	if err != nil {
		return err
	}
	lock, _ := e.images.LoadOrStore(text, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	var found client.ImageInspectResult
	switch ref.Kind {
	case image.LocalRef:
		found, err = s.stored(ctx, ref)
	case image.RemoteRef:
		if found, err = s.inspect(ctx, ref.Name); errdefs.IsNotFound(err) {
			found, err = e.loaded(ctx, s, ref, open, dir)
		}
	default:
		found, err = e.loaded(ctx, s, ref, open, dir)
	}
	if err != nil {
		return err
	}
	p.Image = found.ID
	if c := found.Config; c != nil {
		p.Env, p.WorkingDir, p.Volumes = c.Env, c.WorkingDir, slices.Sorted(keys(c.Volumes))
	}
	return nil
}

// inspect looks an image up at the server.
func (s *Server) inspect(ctx context.Context, name string) (client.ImageInspectResult, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := reference.ParseAnyReference(name); err != nil {
		return client.ImageInspectResult{}, fmt.Errorf("%.200q names no image: %w", name, err)
	}
	found, err := s.client.ImageInspect(ctx, name)
	if err == nil && !strings.HasPrefix(found.ID, "sha256:") {
		found.ID = "sha256:" + found.ID // Podman's form
	}
	if err == nil && !identifier.MatchString(strings.TrimPrefix(found.ID, "sha256:")) {
		return found, fmt.Errorf("the server answers with an image %.80q, which is no identifier", found.ID)
	}
	return found, tidy(err)
}

// stored finds an image that someone else gave the server.
func (s *Server) stored(ctx context.Context, ref image.Ref) (client.ImageInspectResult, error) {
	found, err := s.inspect(ctx, ref.Name)
	if err != nil {
		return found, fmt.Errorf("%w (docker images lists what %s has)", err, s.Name)
	}
	has := append(lists.Of(found.RepoDigests, func(d string) string { return d[strings.LastIndexByte(d, '@')+1:] }), found.ID)
	if ref.Digest != "" && !slices.Contains(has, ref.Digest.String()) {
		return found, fmt.Errorf("the server has %s under that name, and %s is asked for", strings.Join(has, ", "), ref.Digest)
	}
	return found, nil
}

// note is what the runtime remembers of an image that it has loaded.
type note struct {
	ID string `json:"id"`
}

// loaded finds an image that the runtime has loaded, or loads it. What it loads has been
// compared with its digests.
func (e *Executor) loaded(ctx context.Context, s *Server, ref image.Ref, open func(dir string) (v1.Image, error), dir string) (client.ImageInspectResult, error) {
	digest, err := ref.Resolve()
	if err != nil {
		return client.ImageInspectResult{}, err
	}
	file := e.noteFile(s, digest.Encoded())
	if known, err := readNote(file); err == nil {
		found, err := s.inspect(ctx, known.ID)
		if err == nil {
			now := time.Now()
			_ = os.Chtimes(file, now, now) // it is in use; Sweep checks the time
		}
		if !errdefs.IsNotFound(err) {
			return found, err
		}
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the run's folder is removed, too
	img, err := open(dir)
	if err != nil {
		return client.ImageInspectResult{}, err
	}
	found, err := s.load(ctx, img, imageTag+digest.Encoded())
	if err != nil {
		return found, fmt.Errorf("load it into %s: %w", s.Name, err)
	}
	text, err := json.Marshal(note{found.ID})
	if err == nil {
		err = nolink.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = nolink.WriteFile(file, text, 0o600, false)
	}
	return found, err
}

// noteFile is the file of the note of an image at a server. Each server has its own images.
func (e *Executor) noteFile(s *Server, digest string) string {
	sum := sha256.Sum256([]byte(s.Socket))
	return filepath.Join(e.opts.Dir, "loaded", digest+"-"+hex.EncodeToString(sum[:4]))
}

func readNote(file string) (n note, err error) {
	text, err := nolink.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	return n, err
}

// load gives the server an image and sees that it is the same there.
func (s *Server) load(ctx context.Context, img v1.Image, tag string) (found client.ImageInspectResult, err error) {
	at, err := name.NewTag(tag)
	if err != nil {
		return found, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return found, err
	}
	read, write := io.Pipe()
	go func() { write.CloseWithError(tarball.Write(at, img, write)) }()
	defer read.Close()
	answer, err := s.client.ImageLoad(ctx, read, client.ImageLoadWithQuiet(true))
	if err != nil {
		return found, tidy(err)
	}
	defer answer.Close()
	if err := said(answer); err != nil {
		return found, err
	}
	if found, err = s.inspect(ctx, tag); err != nil {
		return found, err
	}
	want := lists.Of(config.RootFS.DiffIDs, v1.Hash.String)
	if !slices.Equal(found.RootFS.Layers, want) {
		return found, fmt.Errorf("the server has other layers under %s than were loaded", tag)
	}
	return found, nil
}

// said returns the error in a server's messages about its progress.
func said(answer io.Reader) error {
	for in := json.NewDecoder(answer); ; {
		var m struct {
			Error string `json:"error"`
		}
		err := in.Decode(&m)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case m.Error != "":
			return tidy(errors.New(m.Error))
		}
	}
}

// sweepImages removes images that the runtime has loaded and not used for long.
func (e *Executor) sweepImages(ctx context.Context, s *Server, age time.Duration) error {
	return image.Sweep(filepath.Join(e.opts.Dir, "loaded"), age, func(file string) error {
		digest, _, _ := strings.Cut(filepath.Base(file), "-")
		if file != e.noteFile(s, digest) {
			return nil // another server's
		}
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		_, err := s.client.ImageRemove(ctx, imageTag+digest, client.ImageRemoveOptions{PruneChildren: true})
		switch {
		case errdefs.IsConflict(err):
			return nil // a container has it
		case err != nil && !errdefs.IsNotFound(err):
			return fmt.Errorf("sweep image %s: %w", digest, tidy(err))
		}
		return os.Remove(file)
	})
}

// copyUp copies the image's content at mounts with CopyUp into their folders. The server
// packs it from a container that is never started.
func (e *Executor) copyUp(ctx context.Context, s *Server, spec executor.Spec, p sandbox.Place, dir string) error {
	if !slices.ContainsFunc(spec.Mounts, func(m executor.Mount) bool { return m.CopyUp }) {
		return nil
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the run's folder is removed, too
	run := filepath.Base(filepath.Dir(dir))
	id, err := s.create(ctx, "mleflow-"+run, &container.Config{
		Image: p.Image, Entrypoint: []string{"/none"}, Labels: map[string]string{labelID: spec.ID, labelRun: e.token + "/" + run},
	}, &container.HostConfig{NetworkMode: "none", UsernsMode: s.namespace(p.User)})
	if err != nil {
		return fmt.Errorf("read the image: %w", s.explain(err))
	}
	for _, m := range spec.Mounts {
		if m.CopyUp {
			if err := s.unpack(ctx, id, path.Clean(m.Guest), dir, e.opts.ImageBytes); err != nil {
				return fmt.Errorf("copy %s from the image: %w", m.Guest, err)
			}
		}
	}
	uid, gid := -1, -1
	if p.Host != nil {
		uid, gid = p.Host.UID, p.Host.GID
	}
	if err := image.CopyUp(ctx, dir, spec.Mounts, uid, gid); err != nil {
		return err
	}
	return e.Remove(ctx, run)
}

// unpack unpacks what a container has at a path below a folder. Only files, folders and
// links are created, which belong to the caller.
func (s *Server) unpack(ctx context.Context, id, guest, dir string, most int64) error {
	found, err := s.client.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: guest})
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return tidy(err)
	}
	defer found.Content.Close()
	at := filepath.Join(dir, path.Dir(guest))
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	mine := func(h *tar.Header) (bool, error) {
		h.PAXRecords = nil
		switch h.Typeflag {
		case tar.TypeReg:
			h.Mode = h.Mode&0o777 | 0o600
		case tar.TypeDir:
			h.Mode = h.Mode&0o777 | 0o700
		case tar.TypeLink, tar.TypeSymlink:
		default:
			return false, nil
		}
		return true, nil
	}
	_, err = archive.Apply(ctx, at, &atMost{found.Content, most}, archive.WithNoSameOwner(), archive.WithFilter(mine))
	return err
}

// program copies the program that is the first process of containers, so that a guest can
// run and cannot read it, whoever owns it, and a newer one can take its place meanwhile.
func (e *Executor) program(self string) (string, error) {
	info, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", self, info.Size(), info.ModTime().UnixNano()))
	to := filepath.Join(e.programs.Dir, "first-"+hex.EncodeToString(sum[:8]))
	if old, err := os.Lstat(to); err == nil && old.Size() == info.Size() {
		now := time.Now()
		return to, os.Chtimes(to, now, now)
	}
	if err := nolink.MkdirAll(e.programs.Dir, 0o700); err != nil {
		return "", err
	}
	in, err := os.Open(self)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.CreateTemp(e.programs.Dir, ".work-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(out.Name()) //nolint:errcheck // it has been renamed
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Chmod(0o111), out.Close()); err != nil {
		return "", err
	}
	return to, os.Rename(out.Name(), to)
}
