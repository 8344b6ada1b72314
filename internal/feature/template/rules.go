package template

import (
	"net/http"

	"seckill/internal/httpapi/httpkit"
)

// Rules are the refusals of templates.
func Rules() []httpkit.Rule {
	return []httpkit.Rule{
		{Matches: httpkit.Is(ErrNone), Failure: httpkit.Failure{
			Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
			Detail:  "There is no template with this id: it was deleted.",
			English: "There is no such template any more.", Chinese: "该模板不存在或已删除",
		}},
		{Matches: httpkit.Is(ErrName), Failure: httpkit.Failure{
			Code: "TEMPLATE_EXISTS", Status: http.StatusConflict, Title: "There is such a template",
			Detail:  "The shop has a template of this name. Nothing was changed; choose another name.",
			English: "There is a template of this name.", Chinese: "已有同名模板",
		}},
		{Matches: httpkit.Is(ErrMany), Failure: httpkit.Failure{
			Code: "TOO_MANY_TEMPLATES", Status: http.StatusConflict, Title: "Too many templates",
			Detail:  "The shop has 100 templates, which is the limit. Delete one first.",
			English: "There are too many templates. Delete one first.", Chinese: "模板数量已达上限，请先删除",
		}},
	}
}
