package pages

import (
	"fmt"
	"path"
	"regexp"
)

// imported matches the import statements of a module. The script has no comment lines any more. A module imported only
// at run time does not match: import('…') is an expression.
var imported = regexp.MustCompile(`(?m)^(?:import|export)\s(?:[^;'"]*?\sfrom\s)?'(\.[^']*)'`)

// modules returns the names, below the assets, of the modules that a module needs before it runs, the nearest first.
// Pages preload them: otherwise a browser learns of each only once it has read a module that imports it. modules fails
// if a file does not exist.
func (p *Pages) modules(name string) ([]string, error) {
	var names []string
	known := map[string]bool{name: true}
	for next := []string{name}; len(next) > 0; next = next[1:] {
		f := p.files["/"+assets+next[0]]
		if f == nil {
			return nil, fmt.Errorf("no module %q", next[0])
		}
		for _, match := range imported.FindAllSubmatch(f.body(), -1) {
			needed := path.Join(path.Dir(next[0]), string(match[1]))
			if !known[needed] {
				known[needed] = true
				names, next = append(names, needed), append(next, needed)
			}
		}
	}
	return names, nil
}
