package pages

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"seckill/internal/testkit/server"
	"seckill/web"
)

func TestWithoutComments(t *testing.T) {
	t.Parallel()
	const source = "// @ts-check\n/** Says\n * so. */\nconst a = 1; // stays\n  /** @type {any} */ (a).b();\n" +
		"  /** @param {a} b */\nf(/** @type {any} */ (a));\nconst r = /^\\//;\n"
	const want = "\n\n\nconst a = 1; // stays\n(a).b();\n\nf(/** @type {any} */ (a));\nconst r = /^\\//;\n"
	if got := string(withoutComments([]byte(source))); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	const style = "/* Of all pages. */\na { color: red; } /* stays */\n  /* two\n lines */ b { top: 0; }\n"
	if got, want := string(withoutComments([]byte(style))),
		"\na { color: red; } /* stays */\n\nb { top: 0; }\n"; got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// TestServedWithoutComments checks that scripts and stylesheets are served without comment lines.
func TestServedWithoutComments(t *testing.T) {
	t.Parallel()
	p, err := New(web.FS, Site{})
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?m)^\s*(//|/\*).*$`)
	for path, f := range p.files {
		ours := strings.HasSuffix(path, ".js") || strings.HasSuffix(path, ".css")
		if found := comment.Find(f.body()); ours && !strings.Contains(path, "/vendor/") && found != nil {
			t.Errorf("%s has %q", path, found)
		}
	}
}

// TestScriptsWithoutComments checks that each script is still valid without its comments. The tests of
// test/apart/browser run the stripped scripts.
func TestScriptsWithoutComments(t *testing.T) {
	t.Parallel()
	node, err := server.Program(t.Context(), "node", "nodejs")
	if err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{}
	err = fs.WalkDir(web.FS, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".js") || strings.Contains(name, "/vendor/") {
			return err
		}
		body, err := fs.ReadFile(web.FS, name)
		scripts[name] = string(withoutComments(body))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(scripts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "--experimental-vm-modules", "--no-warnings", "-e", `
const { SourceTextModule } = require('node:vm');
const scripts = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
for (const [identifier, text] of Object.entries(scripts)) new SourceTextModule(text, { identifier });`)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
