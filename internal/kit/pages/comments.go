package pages

import "bytes"

// withoutComments empties the comment lines of a script, which are a fifth of the bytes, or of a stylesheet. Line
// numbers stay those of the source, so that errors name the right lines. A comment after code stays. No line inside a
// multi-line text may begin like a comment.
func withoutComments(source []byte) []byte {
	lines := bytes.Split(source, []byte("\n"))
	inside := false
	for i, line := range lines {
		text := bytes.TrimSpace(line)
		if !inside && bytes.HasPrefix(text, []byte("//")) {
			lines[i] = nil
			continue
		}
		if inside = inside || bytes.HasPrefix(text, []byte("/*")); !inside {
			continue
		}
		lines[i] = nil
		if _, rest, ends := bytes.Cut(text, []byte("*/")); ends {
			inside, lines[i] = false, bytes.TrimSpace(rest)
		}
	}
	return bytes.Join(lines, []byte("\n"))
}
