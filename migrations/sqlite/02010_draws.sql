-- +goose Up
-- The same tables, columns and rules as in ../mysql, whose comments hold here too.

CREATE TABLE tb_draw (
    voucher_id  BIGINT       NOT NULL,
    number      INT          NOT NULL,
    draw_key    BLOB         NOT NULL,
    key_hash    BLOB         NOT NULL,
    begin_time  DATETIME     NOT NULL,
    delay_ms    BIGINT       NOT NULL,
    close_time  DATETIME     NOT NULL,
    source      VARCHAR(128) NOT NULL DEFAULT '',
    round       VARCHAR(64)  NOT NULL DEFAULT '',
    create_time DATETIME     NOT NULL,
    closed_time DATETIME     NULL,
    entries     BIGINT       NOT NULL DEFAULT 0,
    root        BLOB         NULL,
    beacon      VARCHAR(256) NOT NULL DEFAULT '',
    beacon_time DATETIME     NULL,
    void_time   DATETIME     NULL,
    void_why    VARCHAR(16)  NOT NULL DEFAULT '',
    PRIMARY KEY (voucher_id, number)
) WITHOUT ROWID;

CREATE TABLE tb_draw_entry (
    voucher_id BIGINT NOT NULL,
    number     INT    NOT NULL,
    user_id    BIGINT NOT NULL,
    entry      BIGINT NOT NULL,
    hash       BLOB   NOT NULL,
    PRIMARY KEY (voucher_id, number, user_id),
    UNIQUE (voucher_id, number, hash)
) WITHOUT ROWID;
CREATE INDEX idx_draw_entry_user ON tb_draw_entry (user_id);
