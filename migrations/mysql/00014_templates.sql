-- +goose Up
-- What new vouchers of a shop are made from.
CREATE TABLE IF NOT EXISTS tb_voucher_template (
    id          BIGINT      NOT NULL AUTO_INCREMENT,
    shop_id     BIGINT      NOT NULL,
    name        VARCHAR(64) NOT NULL,
    fields      TEXT        NOT NULL COMMENT 'of a voucher without its moments, as JSON',
    create_time DATETIME(3) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_template_name (shop_id, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
