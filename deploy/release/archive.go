package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is one of an archive's.
type file struct {
	name string
	path string // where it is now
	mode int64
}

// writeArchive writes the files into a folder of a tar archive. Its bytes depend on theirs, the names and the time
// alone.
func writeArchive(path, folder string, files []file, made time.Time) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	packed := gzip.NewWriter(out) // without a name and a time
	archive := tar.NewWriter(packed)
	for _, f := range files {
		if err := addFile(archive, folder, f, made); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

func addFile(archive *tar.Writer, folder string, f file, made time.Time) error {
	content, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	header := &tar.Header{
		Name: folder + "/" + f.name, Mode: f.mode, Size: int64(len(content)), ModTime: made, Typeflag: tar.TypeReg,
		Format: tar.FormatUSTAR,
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(content)
	return err
}

// writeSums writes SHA256SUMS of the named files, as sha256sum -c reads it.
func writeSums(folder string, names []string) error {
	var sums strings.Builder
	for _, name := range slices.Sorted(slices.Values(names)) {
		sum, err := sumOf(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, name)
	}
	//nolint:gosec // for everybody
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// sumOf returns a file's SHA-256 in hexadecimal.
func sumOf(path string) (_ string, err error) {
	f, err := os.Open(path) //nolint:gosec // one that this program has made
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
