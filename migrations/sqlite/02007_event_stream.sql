-- +goose Up
-- The same tables, columns and rules as in ../mysql, whose comments hold here too.

CREATE TABLE tb_event_stream (
    id          TINYINT  NOT NULL PRIMARY KEY,
    cursor_key  BLOB     NOT NULL,
    gone        BIGINT   NOT NULL,
    epoch       BIGINT   NOT NULL DEFAULT 0,
    all_since   DATETIME NULL,
    all_until   DATETIME NULL,
    create_time DATETIME NOT NULL
) WITHOUT ROWID;

CREATE TABLE tb_sale_event (
    voucher_id INTEGER NOT NULL PRIMARY KEY,
    number     BIGINT  NOT NULL,
    started    TINYINT NOT NULL DEFAULT 0,
    sold_out   TINYINT NOT NULL DEFAULT 0,
    ended      TINYINT NOT NULL DEFAULT 0
);
