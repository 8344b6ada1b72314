// Package lua holds the lock's scripts and the preludes that they start with.
package lua

import "embed"

//go:embed *.lua
var files embed.FS

// Join returns the texts of the named scripts, one after the other. It panics for an unknown name.
func Join(names ...string) (text string) {
	for _, name := range names {
		b, err := files.ReadFile(name + ".lua")
		if err != nil {
			panic(err)
		}
		text += string(b)
	}
	return text
}
