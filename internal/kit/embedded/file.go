package embedded

import (
	"errors"
	"os"
	"path/filepath"
)

// writeFile creates or replaces a file that only its owner may read. If the process or the machine crashes meanwhile,
// the file has either the old or the new content; after writeFile has returned nil, it has the new one.
func writeFile(dir, name string, data []byte) (err error) {
	temp, err := os.CreateTemp(dir, "."+name+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name()) // harmless if it fails: the file is never read
		}
	}()
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), filepath.Join(dir, name))
	}
	if err == nil {
		err = syncDir(dir)
	}
	return err
}

// syncDir flushes a directory's entries to disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
