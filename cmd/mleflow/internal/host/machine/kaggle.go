package machine

import (
	"fmt"
	"os"
	"path/filepath"
)

// kaggle looks for credentials without reading their values.
func (m Machine) kaggle() Check {
	c := Check{Name: "Kaggle", Status: OK}
	if m.Env("KAGGLE_API_TOKEN") != "" {
		c.Detail = "credentials in KAGGLE_API_TOKEN"
		return c
	}
	if m.Env("KAGGLE_USERNAME") != "" && m.Env("KAGGLE_KEY") != "" {
		c.Detail = "credentials in KAGGLE_USERNAME and KAGGLE_KEY"
		return c
	}
	for _, file := range m.kaggleFiles() {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		c.Detail = "credentials in " + file
		if info.Mode().Perm()&0o077 != 0 {
			c.Status = Warn
			c.Detail += fmt.Sprintf(", which others may read (mode %04o)", info.Mode().Perm())
			c.Fix = "chmod 600 " + file
		}
		return c
	}
	return Check{Name: "Kaggle", Status: Absent, Detail: "no credentials", Fix: "needed to download competitions: on kaggle.com choose Settings, API, Create New Token, and save the file as ~/.kaggle/kaggle.json with mode 600"}
}

// kaggleFiles lists where Kaggle's own client looks.
func (m Machine) kaggleFiles() []string {
	dirs := []string{filepath.Join(m.Home, ".kaggle"), filepath.Join(m.Home, ".config", "kaggle")}
	if dir := m.Env("KAGGLE_CONFIG_DIR"); dir != "" {
		dirs = append([]string{dir}, dirs...)
	}
	var files []string
	for _, dir := range dirs {
		files = append(files, filepath.Join(dir, "kaggle.json"), filepath.Join(dir, "access_token"))
	}
	return files
}
