package browser

import (
	"fmt"
	"strings"
	"testing"
)

// TestPreviewShowsWhatItRead checks that the card beside the form promises nothing that the form cannot read, and that
// wrong fields are worded one way, whoever finds them.
func TestPreviewShowsWhatItRead(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	w := open(t, s.url("/admin#/vouchers"), s.asAdmin(desktop()))
	w.click("[data-act=create]")
	w.sets("#f-title", strings.Repeat("t", 300))
	w.setsTime("beginTime", w.inHours(-1))
	w.setsTime("endTime", w.inHours(1))
	for typed, price := range map[string]string{
		"¥5": "No price yet", "five": "No price yet", "-5": "No price yet", "1.005": "No price yet", "": "No price yet",
		"0": "Free", "5": "¥5",
	} {
		w.sets("#f-payValue", typed)
		w.until(fmt.Sprintf("document.querySelector('.preview .price strong').innerText === %s", quoted(price)))
		w.until(fmt.Sprintf("/free/i.test(document.querySelector('.preview [data-state]').innerText) === %t",
			typed == "0"))
	}
	w.sets("#f-payValue", "¥5")
	w.sees(".preview [data-state=grab]", "Grab it for –")
	for _, name := range []string{"beginTime", "endTime"} {
		was := evaluate[string](w, fmt.Sprintf(`document.querySelector("[name='%s.clock']").value`, name))
		w.sets(fmt.Sprintf("[name='%s.clock']", name), "8pm")
		w.sees(".preview [data-state=preparing]", "No time yet")
		w.until("!/NaN|ends in/i.test(document.querySelector('.preview').innerText)")
		w.picture("console-preview-unread-"+name+"-desktop", false)
		w.sets(fmt.Sprintf("[name='%s.clock']", name), was)
		w.sees(".preview [data-state=grab]", "")
	}
	w.sets("#f-stock", "0")
	w.click("[data-act=save]")
	w.sees("#f-title-wrong", "This has 300 characters (1 to 255 characters).")
	w.sees("#f-payValue-wrong", "This is not a number.")
	w.sees("#f-stock-wrong", "This is 0 (a whole number from 1 to 100,000,000).")
	w.sees("#f-actualValue-wrong", "This is missing.")
	w.accessible()
	w.picture("console-form-worded-desktop", false)
	got := evaluate[string](w, `(async () => {
  const { problems } = await import('/assets/admin/wrong.js'), { speak } = await import('/assets/words.js');
  const { FORM_TEXTS } = await import('/assets/admin/form-texts.js'), { CODES } = await import('/assets/admin/codes.js');
  return ['en', 'zh'].map(language => {
    const { t } = speak(language, { ...CODES, ...FORM_TEXTS });
    const error = (code, length) => ({ field: code + length, code, allowedCode: 'LENGTH',
      data: { length, min: 1, max: 5 }, reason: 'is new', allowed: 'old' });
    const errors = [error('CHARACTERS', 6), error('CHARACTERS', 3), error('NEWER', 3)];
    return Object.values(problems({ errors }, t)).join(' | ');
  }).join(' | ');
})()`)
	if want := "This has 6 characters (1 to 5 characters). | " +
		"This has a character that cannot be shown (1 to 5 characters). | This is new (old). | " +
		"共 6 个字符（1 到 5 个字符）。 | 含有无法显示的字符（1 到 5 个字符）。 | is new（old）。"; got != want {
		t.Errorf("the words are\n%s, want\n%s", got, want)
	}
	for name, d := range map[string]device{
		"narrow-zh":       {name: "narrow", width: 360, height: 740, language: "zh-CN"},
		"desktop-dark-zh": desktop().in("zh-CN").inDark(),
	} {
		w := open(t, s.url("/admin#/vouchers"), s.asAdmin(d))
		w.click("[data-act=create]")
		w.sets("#f-payValue", "¥5")
		w.sets("[name='beginTime.clock']", "8pm")
		w.sees(".preview .price", "暂无售价")
		w.sees(".preview [data-state=preparing]", "暂无时间")
		evaluate[bool](w, "document.querySelector('.preview').scrollIntoView(), true")
		w.accessible()
		w.picture("console-preview-unread-"+name, false)
	}
}
