package pages

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestModules(t *testing.T) {
	t.Parallel()
	const (
		near = "import {\n  far,\n} from '../far.js';\nimport './main.js';\nlet s = \"from './no.js'\";\n"
		far  = "import './a/near.js';\nexport { it } from './last.js';\nconst late = await import('./late.js');\n"
	)
	files := func(main string) fstest.MapFS {
		return fstest.MapFS{
			"index.html":       {Data: []byte(`{{range modules "a/main.js"}}[{{$.Assets}}/{{.}}]{{end}}`)},
			"assets/a/main.js": {Data: []byte("// imports './not.js'\n" + main)},
			"assets/a/near.js": {Data: []byte(near)},
			"assets/far.js":    {Data: []byte(far)},
			"assets/last.js":   {Data: []byte("export const it = 1;\n")},
		}
	}
	h, versioned := open(t, files("import { near } from './near.js';\n"), Site{})
	want := "[" + versioned + "/a/near.js][" + versioned + "/far.js][" + versioned + "/last.js]"
	if got := text(t, ask(t, h, "GET", "/").Body); got != want {
		t.Errorf("the page preloads %s, want %s", got, want)
	}
	_, err := New(files("import './gone.js';\n"), Site{})
	if err == nil || !strings.Contains(err.Error(), `"a/gone.js"`) {
		t.Errorf("a module that is not there: %v", err)
	}
}
