package pages

import "bytes"

// withoutComments empties the lines of a script that are comments, a fifth of what buyers would load. Lines keep
// their numbers, so that errors name those of the source. What follows code in a line stays. A script must not have
// a line in a text that begins like a comment.
func withoutComments(script []byte) []byte {
	lines := bytes.Split(script, []byte("\n"))
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
