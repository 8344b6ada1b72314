-- seckill.lua: the gate of sales: accepts or refuses requests. It checks the window, the stock and one order per user,
-- and appends the accepted orders to the stream: all of it in one atomic step. One call has the requests for one sale, or
-- for several sales at once, each of which is decided as if it were by itself.
--
-- KEYS (one hash slot)
--   1  orders  stream  accepted orders that wait for their rows
--   then two for each of 1 to 64 sales:
--   1  sale    hash    its state; fields in docs/architecture.md
--   2  buyers  hash    user id -> order id: the holders; with several units, order id ":" quantity
-- ARGV
--   for each sale in the same order:
--   1  voucher id
--   2  known epoch       the highest mark (epoch, sequence) that the caller has seen of this sale
--   3  known sequence
--   4  max backlog       orders in the stream at which no request is accepted any more
--   5  how many requests follow, 1 to 256
--   6  quantities        how many units each of them asks for, 1 to 20, as "1 3 1"; "": one each
--   7… user id, order id; one pair for each request. Ids are opaque text, never numbers: a Lua number is exact only
--      up to 2^53. The order id 0: the user may not enter, and is only told of an order that they have (internal/feature/guard)
--
-- Returns the error READONLY where this server is no master; otherwise an array with one element for each sale, in order: a
-- flat array; or the text of an error, which concerns no other sale. It is text because clients stop reading an array at
-- some of the errors in it
--   1  mode              "open", "paused", "off" or "rebuild"; "" when there is no sale
--   2  epoch
--   3  sequence          after this call
--   4  stock             units left after this call, returned and reserved ones that are not yet sellable included
--   5  buyers            how many holders there are after this call
--   6  begin, 7 end      the window in milliseconds since 1970, the end exclusive
--   8  now               Redis's clock in milliseconds since 1970
--   9… one element for each request, in order: one of the codes below; or the text of the order that the user has
--      already, as in buyers (ALREADY_BOUGHT, which is never returned as a code); or, below 0, how many units are left,
--      fewer than the request asks for (NOT_ENOUGH, likewise)
--
-- An error that names Redis's own state (OOM, READONLY, MISCONF, NOREPLICAS) means that nothing was written for the
-- sale, nor for any other: Redis refuses a script's first write or none. That is why XADD, which such a Redis refuses,
-- comes first.
--
-- The same call sent again accepts nothing twice and answers ACCEPTED again for what it accepted (rule 3,
-- docs/architecture.md). A refusal may differ by then.
--
-- Needs: clock, number, returned, sale, server

-- The codes, in the order in which they are decided. internal/order/outcome.go has the same numbers and names, and what
-- follows from each.
local ACCEPTED = 0    -- its units were taken for this order id, now or by an earlier call
-- ALREADY_BOUGHT = 1: the user has another order. It is asked before mode, window and stock, so that a winner whose
--                    answer was lost is told the order whatever has happened to the sale since
local NO_SALE = 2     -- there is no readable sale, as where a key is of another type; for every request
local LOST_TAIL = 3   -- the sale is behind the known mark: this Redis has lost writes that it had acknowledged. Or another
--                    server opened it: this one was restarted or took over, and may have lost some. The sale is stopped
--                    (mode "rebuild"), unless Redis takes no writes; the caller asks for a rebuild of the epoch in this
--                    answer either way. For every request, as the holders may be out of date too
local REBUILDING = 4
local OFF_SHELF = 5
local PAUSED = 6      -- also, for a moment after some rebuilds, where a unit could be sold (begin_rebuild.lua says why)
local NOT_STARTED = 7
local ENDED = 8
local SOLD_OUT = 9    -- no sellable unit
local BACKLOGGED = 10 -- too many orders wait in the stream
-- NOT_ENOUGH = 11: there are sellable units, but fewer than the request asks for. It is decided after PAUSED
local BARRED = 12     -- the user is no holder, and may not enter. It is asked before mode, window and stock too

local MAX_SALES = 64
local MAX_REQUESTS = 256
local MAX_PACKED = 16 -- orders in an entry. More save little (ADR 34)
local PACK_SHARE, MOST_PACKED = 512, 1000 -- orders are packed while fewer entries wait than max backlog / PACK_SHARE, and MOST_PACKED
local MAX_QUANTITY = 20

local call, pcall = redis.call, redis.pcall
local orders_key = KEYS[1]
local sales = (#KEYS - 1) / 2

-- The units that each of n requests asks for; false for text that does not say it.
local function units_of(text, n)
  local units = {}
  for word in string.gmatch(text, '%S+') do
    units[#units + 1] = tonumber(word) or 0
    if units[#units] < 1 or units[#units] > MAX_QUANTITY then
      return false
    end
  end
  return #units == n and units
end

-- All arguments are looked at before anything is done for the first sale.
local ats, sizes = {}, {} -- of each sale: where its arguments begin, and how many requests it has
local units = {}          -- of each sale, of each request; nil where each asks for one unit
local at = 1
while ARGV[at] do
  local n, sale = tonumber(ARGV[at + 4]) or 0, #ats + 1
  if n < 1 or n > MAX_REQUESTS or n ~= math.floor(n)
    or not (tonumber(ARGV[at + 1]) and tonumber(ARGV[at + 2]) and tonumber(ARGV[at + 3])) then
    break
  end
  if ARGV[at + 5] ~= '' then
    units[sale] = units_of(ARGV[at + 5], n)
    if not units[sale] then
      break
    end
  end
  ats[sale], sizes[sale] = at, n
  at = at + 6 + 2 * n
end
if at ~= #ARGV + 1 or #ats ~= sales or sales < 1 or sales > MAX_SALES then
  return redis.error_reply('ERR seckill.lua: bad arguments')
end

local now = clock()
local entries = call('XLEN', orders_key)

local answers = {}
for s = 1, sales do
  local sale_key, buyers_key = KEYS[2 * s], KEYS[2 * s + 1]
  local at, n, quantities = ats[s], sizes[s], units[s]
  local voucher = ARGV[at]
  local known_epoch, known_seq, max_backlog = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local first = at + 6 -- where the pairs begin

  -- XLEN counts entries, and not orders. So orders are packed only while few entries wait, and as many are taken for full
  -- ones: more orders never wait than allowed, and nobody is refused before 97 % of those do. Also where no more are packed
  -- now, as packed ones may still wait.
  local few = math.min(math.floor(max_backlog / PACK_SHARE), MOST_PACKED)
  local backlog = entries + (MAX_PACKED - 1) * math.min(entries, few)

  -- Read everything of the sale first: a script that fails after a write is not undone.
  local users = {}
  for i = 1, n do
    users[i] = ARGV[first + 2 * i - 2]
  end
  local sale = pcall('HMGET', sale_key, 'mode', 'epoch', 'seq', 'stock', 'returned', 'returned_at', 'begin', 'end',
    'reserved', 'resumes', 'server')
  local holders = pcall('HMGET', buyers_key, unpack(users)) -- order ids
  local buyers = holders.err and 0 or call('HLEN', buyers_key)

  local mode, epoch, seq, stock = sale[1], number(sale[2]), number(sale[3]), number(sale[4])
  local returned, returned_at = number(sale[5]) or 0, number(sale[6]) or 0
  local opens, closes = number(sale[7]), number(sale[8])
  local reserved = 0 -- returned units that apply.lua keeps for a revival
  if (number(sale[9]) or 0) > 0 then
    reserved = number(call('HGET', sale_key, 'reserved_units')) or 1
  end
  local resting = not past(number(sale[10]) or 0, now) -- a rebuilt sale that does not sell yet
  local readable = epoch and seq and stock and opens and closes and not holders.err
    and epoch <= known_epoch + MAX_LEAD and MODES[mode]

  local everyone -- the code for every request, holders' too, if there is one
  local refusal  -- why no new holder is accepted, if so
  if not readable then
    mode, epoch, seq, stock, returned, reserved = '', 0, 0, 0, 0, 0
    everyone = NO_SALE
  elseif epoch < known_epoch or (epoch == known_epoch and seq < known_seq) or other_server(sale[11]) then
    if mode ~= 'rebuild' then
      -- Refused when out of memory or read-only; the caller requests the rebuild all the same.
      pcall('HSET', sale_key, 'mode', 'rebuild')
      mode = 'rebuild'
    end
    everyone = LOST_TAIL
  elseif mode == 'rebuild' then
    refusal = REBUILDING
  elseif mode == 'off' then
    refusal = OFF_SHELF
  elseif mode == 'paused' then
    refusal = PAUSED
  elseif now < opens then
    refusal = NOT_STARTED
  elseif now >= closes then
    refusal = ENDED
  end

  if not everyone then
    stock, returned = ripen(stock, returned, returned_at, now)
  end

  local outcomes = {}
  local accepted, taken = 0, 0 -- orders, and their units
  local added = {}    -- user, order, user, order…: what HSET writes to buyers
  local order_of = {} -- user -> order that this call accepted
  for i = 1, n do
    local user, order, quantity = users[i], ARGV[first + 2 * i - 1], 1
    local asks = order == '0' -- for the order that the user has, and not for units
    if quantities and quantities[i] > 1 then
      quantity = quantities[i]
      order = order .. ':' .. string.format('%d', quantity)
    end
    local current = order_of[user] or holders[i]
    if everyone then
      outcomes[i] = everyone
    elseif current == order and not asks then
      outcomes[i] = ACCEPTED
    elseif current then
      outcomes[i] = current
    elseif asks then
      outcomes[i] = BARRED
    elseif refusal then
      outcomes[i] = refusal
    elseif stock - taken <= 0 then
      outcomes[i] = SOLD_OUT
    elseif resting then
      outcomes[i] = PAUSED
    elseif stock - taken < quantity then
      outcomes[i] = taken - stock
    elseif backlog + accepted >= max_backlog then
      outcomes[i] = BACKLOGGED
    else
      accepted, taken = accepted + 1, taken + quantity
      added[2 * accepted - 1], added[2 * accepted] = user, order
      order_of[user] = order
      outcomes[i] = ACCEPTED
    end
  end

  local failed -- what Redis answers to a write that it refuses: the answer for this sale
  local from = 1
  while from <= accepted do
    local to = entries < few and math.min(accepted, from + MAX_PACKED - 1) or from
    -- Not whole(), whose call would cost 5 % of a batch where each order has an entry of its own.
    local epoch, sequence = sale[2], string.format('%.0f', seq + from)
    local id
    if to > from then
      id = pcall('XADD', orders_key, '*', 'v', voucher, 'e', epoch, 's', sequence, 'p', table.concat(added, ' ', 2 * from - 1, 2 * to))
    else
      id = pcall('XADD', orders_key, '*', 'v', voucher, 'u', added[2 * from - 1], 'o', added[2 * from], 'e', epoch, 's', sequence)
    end
    failed = type(id) == 'table' and id
    if failed and string.find(failed.err or '', '^-?READONLY') then
      return failed -- a replica, or a former master: clients leave a connection that ends in this error, and no other
    end
    if failed then
      break
    end
    entries, from = entries + 1, to + 1
  end
  if accepted > 0 and not failed then
    call('HSET', buyers_key, unpack(added))
    stock, seq, buyers = stock - taken, seq + accepted, buyers + accepted
    call('HSET', sale_key, 'stock', whole(stock), 'seq', whole(seq), 'returned', whole(returned))
    if taken > accepted then
      pcall('HINCRBY', sale_key, 'extra', taken - accepted) -- a rebuild sets it anew if somebody wrote text there
    end
  end

  local answer = {mode, epoch, seq, stock + returned + reserved, buyers, opens or 0, closes or 0, now}
  for i = 1, n do
    answer[8 + i] = outcomes[i]
  end
  answers[s] = failed and (failed.err or 'ERR unknown') or answer
end
return answers
