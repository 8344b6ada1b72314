// Package lua holds the lock's scripts, and the preludes that they are put together from.
package lua

import "embed"

//go:embed *.lua
var files embed.FS

// Join returns the named scripts' texts, one after the other. It panics for a name that is none of theirs.
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
