package httpapi

import (
	"github.com/gin-gonic/gin"

	"seckill/internal/kit/words"
)

// speak returns the language for the answer's texts, and sets the header that names it.
func (a *API) speak(c *gin.Context) words.Language {
	l := a.languages.Choose(c.Request.Header)
	h := c.Writer.Header()
	h["Content-Language"] = a.languages.Name(l)
	h.Add("Vary", "Accept-Language")
	return l
}
