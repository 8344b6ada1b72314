-- +goose Up
-- The same tables, columns and rules as in ../mysql, whose comments hold here too.

CREATE TABLE tb_refund (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    id          VARCHAR(64)  NOT NULL UNIQUE,
    payment_id  VARCHAR(64)  NOT NULL,
    amount      BIGINT       NOT NULL,
    state       TINYINT      NOT NULL,
    origin      TINYINT      NOT NULL,
    reference   VARCHAR(128) NOT NULL DEFAULT '',
    actor       VARCHAR(32)  NOT NULL,
    why         VARCHAR(255) NOT NULL DEFAULT '',
    failure     VARCHAR(255) NOT NULL DEFAULT '',
    create_time DATETIME     NOT NULL,
    send_time   DATETIME     NULL,
    done_time   DATETIME     NULL,
    fail_time   DATETIME     NULL,
    close_time  DATETIME     NULL,
    CONSTRAINT ck_refund_amount CHECK (amount > 0),
    CONSTRAINT ck_refund_state CHECK (state BETWEEN 1 AND 4)
);
CREATE INDEX idx_refund_payment ON tb_refund (payment_id, number);
CREATE INDEX idx_refund_state ON tb_refund (state, close_time, number);

CREATE TABLE tb_payment_cancel (
    payment_id  VARCHAR(64) NOT NULL PRIMARY KEY,
    create_time DATETIME    NOT NULL
) WITHOUT ROWID;
CREATE INDEX idx_payment_cancel_time ON tb_payment_cancel (create_time);

ALTER TABLE tb_payment ADD COLUMN lost_time DATETIME NULL;
ALTER TABLE tb_payment ADD COLUMN lost_before BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tb_voucher_order ADD COLUMN refunds TINYINT NOT NULL DEFAULT 0;
