//! Words that say nothing about what a text is about, in their normal form.

use super::language::Language;

/// The stop words of a language, separated by spaces.
pub(super) fn of(language: Language) -> &'static str {
    match language {
        Language::Danish => {
            "af alle at blev bliver da de dem den der deres det dette dig din disse dog du efter eller en end er et for fra \
             ham han hans har havde hende hendes her hos hun hvad hvem hvis hvor i ikke ind jeg jer kan kunne man med meget \
             men mig min mod måtte når ned noget nogle nu og også om op os over på sin skal skulle som sådan til ud under \
             var ved vi vil ville være været"
        }
        Language::Dutch => {
            "aan al als altijd bij dan dat de der deze die dit doch doen door dus een er geen haar had heb hebben heeft hem \
             het hier hij hoe hun ik in is ja je kan kon maar me meer men met mij mijn moet na naar niet nog nu of om omdat \
             onder ons ook op over reeds te tegen toch toen tot u uit uw van veel voor want waren was wat we wel werd wie \
             wij wil worden zal ze zelf zich zij zijn zo zonder zou"
        }
        Language::English => {
            "a about above after again against all also am an and any are as at be because been before being below \
             between both but by can cannot could did do does doing down during each few for from further had has have \
             having he her here hers herself him himself his how i if in into is it its itself just me more most my myself \
             no nor not of off on once only or other our ours ourselves out over own same she should so some such than \
             that the their theirs them themselves then there these they this those through to too under until up upon \
             very was we were what when where which while who whom why will with would you your yours yourself yourselves"
        }
        Language::French => {
            "ai à au aucun aussi autre aux avec avoir ce cela ces cet cette comme d dans de des donc du elle elles en est et \
             été être eu eux font il ils j je l la le les leur leurs lui m ma mais me même mes moi mon n ne ni nos notre nous \
             on ont ou où par pas plus pour qu que quel quelle qui s sa sans se ses si son sont sous sur t ta te tes toi ton \
             tous tout très tu un une vos votre vous y"
        }
        Language::German => {
            "aber alle allem allen aller alles als also am an ander andere auch auf aus bei bin bis bist da damit dann das \
             dass dein deine dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein \
             eine einem einen einer eines er es etwas euch euer für gegen hat hatte hatten hier hinter ich ihm ihn ihnen ihr \
             ihre im in indem ins ist ja jede jedem jeden jeder jedes jene kann kein keine können man manche mein mich mir \
             mit muss nach nicht nichts noch nun nur ob oder ohne sehr sein seine sich sie sind so solche soll sondern \
             sonst über um und uns unser unter viel vom von vor war waren was weil welche wenn werde werden wie wieder will \
             wir wird wo wollen würde zu zum zur zwar zwischen"
        }
        Language::Italian => {
            "a ad agli ai al alla alle allo anche avere aveva c che chi ci come con contro cui da dagli dai dal dalla dalle \
             dallo degli dei del della delle dello di dove e è ed era essere fra gli ha hanno ho i il in io l la le lei li lo \
             loro lui ma me mi mia mio ne negli nei nel nella nelle noi non nostro o per perché più qual quale quanto quella \
             quello questa questo se sei si sia sono su sua sue sugli sui sul sulla suo suoi ti tra tu tuo tutti tutto un una \
             uno vi voi"
        }
        Language::Norwegian => {
            "alle at av ble blei både da de deg dem den denne der deres det dette di din du eller en enn er et etter for fra \
             før ha hadde ham han hans har hennes her hun hva hvem hvis hvor i ikke inn ja jeg kan kom kun kunne man med meg \
             men mer mot mye må nå når og også om opp oss over på sa seg sin skal skulle slik som så til ut var ved vi vil \
             ville være vært"
        }
        Language::Portuguese => {
            "a à ao aos aquela aquele as às até com como da das de dela dele do dos e é ela elas ele eles em entre era essa \
             esse esta está estas este eu foi for foram há isso isto já la lhe lo mais mas me mesmo meu minha muito na não \
             nas nem no nos nós num numa o os ou para pela pelas pelo pelos por qual quando que quem se sem ser seu seus só \
             sua suas também te tem ter teu um uma você vos"
        }
        Language::Russian => {
            "а без был была были было быть в вам вас весь во вот все всё всего всех вы где да даже для до его ее её если есть \
             еще ещё же за здесь и из или им их к как ко когда кто ли либо мне может мой мы на надо наш не него нее неё нет \
             ни них но ну о об однако он она они оно от очень по под при с со так также такой там те тем то того тоже той \
             только том ты у уже хотя чего чей чем что чтобы чье эта эти это этот я"
        }
        Language::Spanish => {
            "a al algo ante antes aquel aquella como con contra cual cuando de del desde donde durante e el él ella ellas \
             ellos en entre era es esa ese eso esta está estas este esto estos fue ha había han hasta hay la las le les lo \
             los más me mi mí mis mucho muy nada ni no nos nosotros o os otra otro para pero poco por porque que qué quien se \
             ser si sí sin sobre son su sus también tanto te tiene todo todos tu tus tú un una uno y ya yo"
        }
        Language::Swedish => {
            "alla att av blev bli blir de dem den denna deras dess det detta dig din du då där efter ej eller en er ett från \
             för ha hade han hans har henne hennes hon honom hur här i icke ingen inom inte jag ju kan kunde man med mellan \
             men mig min mot mycket ni nu när någon något några och om oss på samma sedan sig sin sitta själv skulle som så \
             sådan till under upp ut utan vad var vara varför vem vi vid vilka vilken är över"
        }
        _ => "",
    }
}
