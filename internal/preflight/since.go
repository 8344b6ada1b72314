package preflight

import (
	"strconv"
	"strings"
)

// longestValue is how many characters of a value of a setup are shown, of a longer one those from where it differs: some settings are lists.
const longestValue = 80

// sinceLastSale says what differs between the setup now and that of the last sale, which an operator asks first when that one went well.
// What could not be read both times is no change, and no ok either.
func (f *Facts) sinceLastSale() Line {
	const name = "setup.changes"
	last := f.Sale.Last
	if err := f.Sale.LastErr; err != nil {
		return unknown(name, Warning, err)
	}
	if last == nil {
		return line(name, OK, say("there is no sale before this one to compare with: a sale's setup is kept when it begins",
			"没有可比较的上一场活动：活动开始时才会记录当时的环境"), text{})
	}
	began := last.Begin.Format("2006-01-02 15:04 MST")
	since := say("since sale %s (%s), which began at %s", "自 %[3]s 开始的活动 %[1]s（%[2]s）以来", strconv.FormatInt(last.VoucherID, 10), last.Title, began)
	changed, unknown := last.Setup.compare(f.Setup)
	what := say("nothing %s", "%s没有变化", since)
	do := say("look yourself at what could not be read", "请自行查看未能读取的项目")
	if changed[English] != "" {
		what = say("%s: %s", "%s：%s", since, changed)
		do = say("see whether that was meant, and whether the rehearsal was with it", "请确认这些变化符合预期，且演练是在此环境下进行的")
	}
	if unknown[English] != "" {
		what = say("%s; not compared, as it could not be read then or now: %s", "%s；当时或现在未能读取，无法比较：%s", what, unknown)
	}
	return line(name, worse(false, changed[English] != "" || unknown[English] != ""), what, do)
}

// compare lists what differs between two setups, with both values, and the names of what is not known of one of them.
func (s Setup) compare(now Setup) (changed, unknown text) {
	var differs, missing [languages][]string
	for _, name := range thingsOf(s, now) {
		was, is, thing := s[name], now[name], called(name)
		for in := range languages {
			switch {
			case was == "" || is == "":
				missing[in] = append(missing[in], thing[in])
			case was != is:
				differs[in] = append(differs[in], thing[in]+" "+brief(was, is)+" → "+brief(is, was))
			}
		}
	}
	for in, between := range [languages][2]string{{"; ", ", "}, {"；", "、"}} {
		changed[in], unknown[in] = strings.Join(differs[in], between[0]), strings.Join(missing[in], between[1])
	}
	return changed, unknown
}

// brief is a value as it is shown beside another one: without the end, and the beginning that both have, of one that is very long.
func brief(value, other string) string {
	all, others := []rune(value), []rune(other)
	if len(all) <= longestValue {
		return value
	}
	from := 0
	for from < min(len(all), len(others)) && all[from] == others[from] {
		from++
	}
	from = max(0, min(from-longestValue/4, len(all)-longestValue)) // with some of what both have
	shown := string(all[from:min(len(all), from+longestValue)])
	if from > 0 {
		shown = "…" + shown
	}
	if from+longestValue < len(all) {
		shown += "…"
	}
	return shown
}
