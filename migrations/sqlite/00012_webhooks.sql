-- +goose Up
-- The same tables as in ../mysql, whose comments hold here too.

CREATE TABLE tb_webhook_endpoint (
    id               INTEGER       PRIMARY KEY AUTOINCREMENT,
    shop_id          BIGINT        NOT NULL,
    url              VARCHAR(2048) NOT NULL,
    description      VARCHAR(255)  NOT NULL DEFAULT '',
    types            VARCHAR(512)  NOT NULL DEFAULT '',
    secret           VARCHAR(128)  NOT NULL,
    old_secret       VARCHAR(128)  NOT NULL DEFAULT '',
    old_secret_until DATETIME      NULL,
    disabled_time    DATETIME      NULL,
    disabled_why     VARCHAR(255)  NOT NULL DEFAULT '',
    next_number      BIGINT        NOT NULL,
    replay_next      BIGINT        NOT NULL DEFAULT 0,
    replay_end       BIGINT        NOT NULL DEFAULT 0,
    failures         BIGINT        NOT NULL DEFAULT 0,
    failing_since    DATETIME      NULL,
    retry_time       DATETIME      NULL,
    success_time     DATETIME      NULL,
    last_error       VARCHAR(512)  NOT NULL DEFAULT '',
    lease_owner      VARCHAR(64)   NOT NULL DEFAULT '',
    lease_until      DATETIME      NULL,
    create_time      DATETIME      NOT NULL
);

CREATE TABLE tb_webhook_event (
    id           INTEGER     PRIMARY KEY AUTOINCREMENT,
    number       BIGINT      NULL,
    shop_id      BIGINT      NOT NULL,
    order_id     BIGINT      NOT NULL,
    order_number BIGINT      NOT NULL,
    type         VARCHAR(32) NOT NULL,
    body         TEXT        NOT NULL,
    create_time  DATETIME    NOT NULL
);
CREATE UNIQUE INDEX uk_webhook_event_number ON tb_webhook_event (number);
CREATE INDEX idx_webhook_event_shop ON tb_webhook_event (shop_id, number);
CREATE INDEX idx_webhook_event_order ON tb_webhook_event (order_id, number);
CREATE INDEX idx_webhook_event_time ON tb_webhook_event (create_time);

CREATE TABLE tb_webhook_sequence (
    id     INTEGER PRIMARY KEY,
    number BIGINT  NOT NULL
);
INSERT INTO tb_webhook_sequence (id, number) VALUES (1, 0);

CREATE TABLE tb_webhook_retry (
    endpoint_id BIGINT       NOT NULL,
    order_id    BIGINT       NOT NULL,
    number      BIGINT       NOT NULL,
    attempts    BIGINT       NOT NULL,
    due_time    DATETIME     NOT NULL,
    error       VARCHAR(512) NOT NULL,
    PRIMARY KEY (endpoint_id, order_id)
);
CREATE INDEX idx_webhook_retry_due ON tb_webhook_retry (endpoint_id, due_time);

CREATE TABLE tb_webhook_dead_letter (
    endpoint_id BIGINT       NOT NULL,
    number      BIGINT       NOT NULL,
    attempts    BIGINT       NOT NULL,
    error       VARCHAR(512) NOT NULL,
    create_time DATETIME     NOT NULL,
    PRIMARY KEY (endpoint_id, number)
);
CREATE INDEX idx_webhook_dead_letter_number ON tb_webhook_dead_letter (number);
