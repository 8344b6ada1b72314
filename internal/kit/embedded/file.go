package embedded

import (
	"errors"
	"os"
	"path/filepath"
)

// writeFile makes or replaces a file that only its owner may read. After a crash, of the process or of the machine, the
// file is there with all of the data or as it was before; once writeFile has returned nil, it is there.
func writeFile(dir, name string, data []byte) (err error) {
	temp, err := os.CreateTemp(dir, "."+name+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name()) // harmless if it stays: it is never read
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

// syncDir puts a directory's entries on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
