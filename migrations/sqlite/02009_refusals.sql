-- +goose Up
-- The same tables, columns and rules as in ../mysql, whose comments hold here too.

CREATE TABLE tb_refusal (
    voucher_id  BIGINT      NOT NULL,
    user_id     BIGINT      NOT NULL,
    run         BIGINT      NOT NULL,
    refused_ms  BIGINT      NOT NULL,
    within_ms   INT         NOT NULL,
    code        VARCHAR(32) NOT NULL,
    create_time DATETIME    NOT NULL,
    PRIMARY KEY (voucher_id, user_id, run)
) WITHOUT ROWID;
CREATE INDEX idx_refusal_ms ON tb_refusal (voucher_id, refused_ms);
CREATE INDEX idx_refusal_user ON tb_refusal (user_id);
CREATE INDEX idx_refusal_created ON tb_refusal (create_time);

CREATE TABLE tb_sale_journal (
    voucher_id  BIGINT   NOT NULL,
    run         BIGINT   NOT NULL,
    users       BIGINT   NOT NULL,
    written     BIGINT   NOT NULL,
    missed      BIGINT   NOT NULL,
    sold_out    TEXT     NOT NULL,
    more_spans  BIGINT   NOT NULL,
    create_time DATETIME NOT NULL,
    write_time  DATETIME NOT NULL,
    PRIMARY KEY (voucher_id, run)
) WITHOUT ROWID;
CREATE INDEX idx_sale_journal_written ON tb_sale_journal (write_time);
