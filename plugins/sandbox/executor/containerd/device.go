package containerd

import (
	"encoding/json"
	"os"
)

// LookCommand is the sub-command of the binary that calls Look.
const LookCommand = "device-look"

// looked is the result of opening the path of a device in a guest.
type looked struct {
	Path  string `json:"path"`
	Error string `json:"error,omitempty"`
}

// Look opens the devices at the given paths and prints the results as JSON. It runs in
// a container, for Reaches.
func Look(paths []string) int {
	var all []looked
	for _, path := range paths {
		all = append(all, look(path))
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		return 1
	}
	return 0
}

func look(path string) looked {
	info, err := os.Stat(path)
	if err == nil && info.Mode()&os.ModeDevice == 0 {
		return looked{path, "it is not a device"}
	}
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_RDWR, 0); err == nil {
			f.Close()
		}
	}
	if err != nil {
		return looked{path, err.Error()}
	}
	return looked{Path: path}
}
