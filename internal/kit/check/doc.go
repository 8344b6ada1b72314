// Package check has the lines of lists of checks: each states a finding, its level, and what to do about it. The texts
// are for people, in English and Chinese.
package check
