package remote

import (
	"path"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

// The folders of a remote cache.
const (
	formatKey    = "format"
	formatText   = "mleflow remote cache 1\n"
	objectsName  = "objects"
	packsName    = "packs"
	closuresName = "closures"
	actionsName  = "actions"
)

func keyOf(folder, hex string) string { return folder + "/" + hex[:2] + "/" + hex }

func objectKey(id digest.ContentID) string  { return keyOf(objectsName, id.String()) }
func packKey(id digest.ContentID) string    { return keyOf(packsName, id.String()) }
func closureKey(id digest.ContentID) string { return keyOf(closuresName, id.String()) }
func actionKey(id digest.ActionID) string   { return keyOf(actionsName, id.String()) }

// contentOf returns the digest of an object's bytes if it is its name, otherwise "".
func contentOf(key string) string {
	if strings.HasPrefix(key, objectsName+"/") {
		return path.Base(key)
	}
	return ""
}

// actionOf returns the action that a key names, and false for other keys, such
// as those of unfinished files.
func actionOf(key string) (digest.ActionID, bool) {
	rest, ok := strings.CutPrefix(key, actionsName+"/")
	if !ok || len(rest) < 3 {
		return digest.ActionID{}, false
	}
	id, err := digest.ParseActionID(rest[3:])
	return id, err == nil && key == actionKey(id)
}
