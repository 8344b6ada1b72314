package stages

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

const ginStage = "gin"

// plainAnswer is as long as the service's answer to an accepted purchase.
const plainAnswer = `{"success":true,"data":{"orderId":"500000000000000001","status":"queued"}}`

// serveGin answers purchases with a constant, and lists with a constant of listBytes bytes, with Gin alone: no token,
// no middleware, no headers beyond those of net/http and Gin. It is the limit of the HTTP side.
func serveGin(ctx context.Context, addr string, listBytes int) error {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	body := []byte(plainAnswer)
	engine.POST("/voucher/seckill/:id", func(c *gin.Context) {
		c.Data(http.StatusAccepted, "application/json", body)
	})
	list := bytes.Repeat([]byte("x"), listBytes)
	engine.GET("/voucher/list/:shopId", func(c *gin.Context) {
		c.Data(http.StatusOK, "application/json", list)
	})
	engine.GET("/readyz", func(c *gin.Context) { c.Status(http.StatusOK) }) // the benchmark waits for it
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: engine, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })() // nothing is lost with an answer
	if err = srv.Serve(listener); errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
