package compose

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every Chinese document has what the English one has, in the same order: sections, lists and tables, pictures, code without its
// comments; and the same commands, settings and names in the text. Each leads to the other.
func TestChineseDocumentsAgree(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, path := range markdown(t) {
		stem, isChinese := strings.CutSuffix(path, ".zh-CN.md")
		if !isChinese || stem == "README" { // whose picture is drawn with words, and which TestReadmesAgree compares
			continue
		}
		compared++
		english, chinese := text(t, stem+".md"), text(t, path)
		if name := stem[strings.LastIndex(stem, "/")+1:]; !strings.Contains(english, "("+name+".zh-CN.md)") || !strings.Contains(chinese, "("+name+".md)") {
			t.Errorf("%s and its English one do not lead to each other", path)
		}
		for what, of := range map[string]func(string) []string{"shape": shape, "code": codeBlocks, "names": codeStyled} {
			if diff := cmp.Diff(of(english), of(chinese)); diff != "" {
				t.Errorf("%s of %s.md (-) and %s (+):\n%s", what, stem, path, diff)
			}
		}
	}
	if compared < 3 {
		t.Errorf("only %d documents are Chinese: is the pattern right?", compared)
	}
}

// fences are blocks of code.
var fences = regexp.MustCompile("(?s)(?:^|\n)```.*?\n```")

// shape is what a document consists of, line by line: headings by depth, points, rows with their number of cells, and pictures.
func shape(document string) []string {
	var all []string
	for line := range strings.SplitSeq(fences.ReplaceAllString(document, "\n```"), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "#"):
			all = append(all, strings.Repeat("#", len(trimmed)-len(strings.TrimLeft(trimmed, "#"))))
		case strings.HasPrefix(trimmed, "|"):
			all = append(all, strings.Repeat("|", strings.Count(trimmed, "|")))
		case strings.HasPrefix(trimmed, "- ["), strings.HasPrefix(trimmed, "- "):
			all = append(all, "-")
		case regexp.MustCompile(`^\d+\. `).MatchString(trimmed):
			number, _, _ := strings.Cut(trimmed, " ")
			all = append(all, number)
		case strings.HasPrefix(trimmed, "!["):
			_, picture, _ := strings.Cut(trimmed, "](")
			all = append(all, picture)
		case trimmed == "```":
			all = append(all, "code")
		}
	}
	return all
}

// codeBlocks are the lines of code of a document without comments.
func codeBlocks(document string) []string {
	comment := regexp.MustCompile(`(^|\s+)(//|#) .*$`)
	var all []string
	for _, block := range fences.FindAllString(document, -1) {
		for line := range strings.SplitSeq(block, "\n") {
			if line = strings.TrimRight(comment.ReplaceAllString(line, ""), " "); line != "" {
				all = append(all, line)
			}
		}
	}
	return all
}

// codeStyled is what the text has in code style, each once: commands, settings, routes, files.
func codeStyled(document string) []string {
	found := found("`([^`]+)`", fences.ReplaceAllString(document, ""))
	for i, name := range found {
		found[i] = strings.Join(strings.Fields(name), " ") // a line may break in it
	}
	slices.Sort(found)
	return slices.Compact(found)
}
