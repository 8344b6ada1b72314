package box

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"seckill/internal/features"
	"seckill/internal/testkit/child"
)

// Features returns the names of all features.
func Features() (names []string) {
	for _, f := range features.List() {
		names = append(names, f.Name)
	}
	return names
}

// Without returns the path of a server built as if the features' folders, and their lines in the list of features, were
// gone.
func Without(tb testing.TB, names ...string) string {
	tb.Helper()
	root, err := child.Root(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	overlay, err := WithoutOverlay(root, dir, names...)
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(dir, "server")
	if err := child.Build(tb.Context(), root, "./cmd/server", path, "-overlay", overlay); err != nil {
		tb.Fatal(err)
	}
	return path
}

// WithoutOverlay writes files into dir that make a build omit the features, and returns the value for the build's flag
// -overlay.
func WithoutOverlay(root, dir string, names ...string) (string, error) {
	list := filepath.Join(root, "internal", "features", "features.go")
	shorter := filepath.Join(dir, "features.go")
	text, err := os.ReadFile(list)
	if err != nil {
		return "", err
	}
	replace := map[string]string{list: shorter}
	kept := string(text)
	for _, name := range names {
		before := strings.Count(kept, "\n")
		for _, line := range []string{
			fmt.Sprintf("\t\"seckill/internal/feature/%s\"\n", name), fmt.Sprintf("\t\t%s.New(),\n", name),
		} {
			kept = strings.Replace(kept, line, "", 1)
		}
		if strings.Count(kept, "\n") != before-2 {
			return "", fmt.Errorf("%s does not import and list %s in a line each", list, name)
		}
		for folder, holds := range map[string]string{
			filepath.Join(root, "internal", "feature", name): "",
			filepath.Join(root, "internal", "testkit"):       `"seckill/internal/feature/` + name, // kits of its tests
		} {
			if err := hide(replace, folder, holds); err != nil {
				return "", err
			}
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	path := filepath.Join(dir, "overlay.json")
	return path, errors.Join(err, os.WriteFile(shorter, []byte(kept), 0o600), os.WriteFile(path, overlay, 0o600))
}

// hide replaces the files below the folder that hold the text, as if they did not exist.
func hide(replace map[string]string, folder, text string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		held, err := os.ReadFile(path)
		if strings.Contains(string(held), text) {
			replace[path] = ""
		}
		return err
	})
}

// Linked returns the packages of this module in a server that is built with the overlay.
func Linked(ctx context.Context, root, overlay string) ([]string, error) {
	const ours = "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}"
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", ours, "-overlay", overlay, "./cmd/server")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("what the server links: %w", err)
	}
	return strings.Fields(string(out)), nil
}
